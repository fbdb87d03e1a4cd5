/**
 * The scripts of `redisStore`. A script runs atomically, but its writes before a failure are not
 * undone. Therefore everything that can fail is checked before the first write, and the first write
 * is one that a full server rejects.
 *
 * Keys of a turn: `:turn` (hash), `:records` (list of name, text, name, text, …), `:names` (set),
 * `:events` (sorted set of `last:text` by `last`).
 */

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/** Without its records, which have the claims, a turn is lost: a server may evict keys apart. */
const LOST = `
if current[1] and current[5] and tonumber(current[5]) ~= redis.call('LLEN', KEYS[2]) then
  current = {}
end`

/**
 * Milliseconds since the last commit. After the server's clock was set back, they count from the first
 * look: an owner that lives commits soon, and one that is gone must not seem alive for as long.
 */
const IDLE = `
local at = tonumber(redis.call('HGET', KEYS[1], 'at'))
if at and at > now then
  at = now
  redis.call('HSET', KEYS[1], 'at', string.format('%.0f', now))
end
local idle = string.format('%.0f', now - (at or 0))`

/**
 * The rule of store.ts. Returns `applied`, `repeated`, `absent`, `exists` and the name, or
 * `refused` and the current state.
 */
export const COMMIT = `
local owner, revision = ARGV[1], tonumber(ARGV[2])
local current = redis.call('HMGET', KEYS[1], 'owner', 'revision', 'open', 'state', 'records')
${LOST}
if not current[1] then
  if revision ~= 1 then return {'absent'} end
else
  local stands = tonumber(current[2])
  if current[1] == owner and stands == revision then return {'repeated'} end
  local mine = current[1] == owner or ARGV[3] == '*' or ARGV[3] == '=' .. current[1]
  if current[3] ~= '1' or stands ~= revision - 1 or not mine then
    return {'refused', current[1], current[2], current[3], current[4]}
  end
end
local named = {}
for i = 11, #ARGV, 2 do
  if named[ARGV[i]] or (current[1] and redis.call('SISMEMBER', KEYS[3], ARGV[i]) == 1) then
    return {'exists', ARGV[i]}
  end
  named[ARGV[i]] = true
end
${NOW}
redis.call('HSET', KEYS[1], 'owner', owner, 'revision', ARGV[2], 'open', ARGV[4], 'at',
  string.format('%.0f', now))
-- Behind the write that a full server rejects. What is left of an evicted turn is not this one's.
if not current[1] then redis.call('DEL', KEYS[2], KEYS[3], KEYS[4]) end
if ARGV[6] == '1' then redis.call('HSET', KEYS[1], 'state', ARGV[7]) end
for i = 11, #ARGV, 2 do
  redis.call('RPUSH', KEYS[2], ARGV[i], ARGV[i + 1])
  redis.call('SADD', KEYS[3], ARGV[i])
end
if ARGV[9] ~= '' then redis.call('ZADD', KEYS[4], ARGV[9], ARGV[9] .. ':' .. ARGV[10]) end
if ARGV[8] ~= '0' then redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', ARGV[8]) end
redis.call('HSET', KEYS[1], 'records', redis.call('LLEN', KEYS[2]))
for i = 1, 4 do redis.call('PEXPIRE', KEYS[i], ARGV[5]) end
return {'applied'}`

/** Returns owner, revision, open, state, idle milliseconds, then names and texts. */
export const READ = `
local current = redis.call('HMGET', KEYS[1], 'owner', 'revision', 'open', 'state', 'records')
${LOST}
if not current[1] then return false end
${NOW}
${IDLE}
local all = redis.call('LRANGE', KEYS[2], 0, -1)
local reply = {current[1], current[2], current[3], current[4], idle}
for i = 1, #all do reply[#reply + 1] = all[i] end
return reply`

/** Returns state, idle milliseconds; false for a turn that is unknown or has ended. */
export const LISTED = `
if redis.call('TYPE', KEYS[1])['ok'] ~= 'hash' then return false end
local turn = redis.call('HMGET', KEYS[1], 'open', 'state')
if turn[1] ~= '1' then return false end
${NOW}
${IDLE}
return {turn[2], idle}`

/**
 * Notes a turn in the list of its tenant, for so many milliseconds, or takes it from there. Those of
 * which nothing was heard for so long are dropped.
 */
export const NOTE = `
${NOW}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
if ARGV[2] == '0' then return redis.call('ZREM', KEYS[1], ARGV[1]) end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1`

/** The newest turns of the list. */
export const NOTED = `return redis.call('ZREVRANGE', KEYS[1], 0, ARGV[1])`

export const EVENTS = `
if redis.call('EXISTS', KEYS[1]) == 0 then return {} end
return redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf', 'LIMIT', 0, ARGV[2])`

/** Returns the value (\`ttl:text\`) and the remaining ttl. */
export const RECALL = `
local kept = redis.call('GET', KEYS[1])
if not kept then return false end
return {kept, string.format('%.0f', redis.call('PTTL', KEYS[1]))}`

/** Returns the owner and the revision of the last commit, and the milliseconds since then. */
export const STANDING = `
local turn = redis.call('HMGET', KEYS[1], 'owner', 'revision')
if not turn[1] then return {false, false} end
${NOW}
${IDLE}
return {turn[1], turn[2], idle}`
