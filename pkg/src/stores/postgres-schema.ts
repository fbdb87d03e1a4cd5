/**
 * What `postgresStore` keeps in the database, and the function that applies a commit.
 *
 * Rows are found by the SHA-256 of ids and names, because an index holds no long key.
 */

const SCHEMA = `
DO $turnlock$
BEGIN
PERFORM pg_advisory_xact_lock(7881301152746823721);
CREATE TABLE IF NOT EXISTS @turns (id bytea PRIMARY KEY, name text NOT NULL,
  tenant bytea NOT NULL, owner text NOT NULL, revision bigint NOT NULL, open boolean NOT NULL, state text NOT NULL,
  at double precision NOT NULL, expires double precision NOT NULL);
CREATE INDEX IF NOT EXISTS #turns_expires ON @turns (expires);
CREATE INDEX IF NOT EXISTS #turns_open ON @turns (tenant) WHERE open;
CREATE TABLE IF NOT EXISTS @records (id bytea REFERENCES @turns ON DELETE CASCADE, n bigint,
  key bytea NOT NULL, name text NOT NULL, text text NOT NULL,
  PRIMARY KEY (id, n), UNIQUE (id, key));
CREATE TABLE IF NOT EXISTS @events (id bytea REFERENCES @turns ON DELETE CASCADE, last bigint,
  text text NOT NULL, PRIMARY KEY (id, last));
CREATE TABLE IF NOT EXISTS @reusable (key bytea PRIMARY KEY, text text NOT NULL,
  at double precision NOT NULL, expires double precision NOT NULL);
CREATE INDEX IF NOT EXISTS #reusable_expires ON @reusable (expires);
CREATE OR REPLACE FUNCTION @commit_1(given text) RETURNS text LANGUAGE plpgsql AS $commit$
DECLARE
  c json := given::json;
  turn bytea := sha256(convert_to(c->>'turn', 'UTF8'));
  writer text := c->>'owner';
  next bigint := c->>'revision';
  ms double precision;
  before record;
  taken text;
  pair json;
BEGIN
  LOOP
    SELECT * INTO before FROM @turns t WHERE t.id = turn FOR UPDATE;
    -- Behind the lock, for which it may have waited.
    ms := extract(epoch FROM clock_timestamp()) * 1000;
    IF FOUND AND before.expires > ms THEN
      IF before.owner = writer AND before.revision = next THEN RETURN '{"is":"repeated"}'; END IF;
      IF NOT before.open OR before.revision <> next - 1
        OR NOT (before.owner = writer OR (c->>'takeOver')::boolean
          AND coalesce(c->>'replaces', before.owner) = before.owner) THEN
        RETURN json_build_object('is', 'refused', 'owner', before.owner,
          'revision', before.revision, 'open', before.open, 'state', before.state);
      END IF;
      SELECT r.name INTO taken FROM @records r WHERE r.id = turn AND r.key IN
        (SELECT sha256(convert_to(new->>0, 'UTF8')) FROM json_array_elements(c->'records') new)
        LIMIT 1;
    ELSIF next <> 1 THEN
      RETURN '{"is":"absent"}';
    END IF;
    IF taken IS NULL THEN
      SELECT new->>0 INTO taken FROM json_array_elements(c->'records') new
        GROUP BY 1 HAVING count(*) > 1 LIMIT 1;
    END IF;
    IF taken IS NOT NULL THEN
      RETURN json_build_object('is', 'exists', 'name', taken);
    END IF;
    IF next <> 1 THEN
      UPDATE @turns t SET owner = writer, revision = next, open = (c->>'open')::boolean,
        state = coalesce(c->>'state', t.state), at = ms, expires = ms + (c->>'ttlMs')::float8
        WHERE t.id = turn;
      EXIT;
    END IF;
    -- Nothing is left of an expired turn, whose row is locked; one that another has begun stays.
    IF before.owner IS NOT NULL THEN DELETE FROM @turns t WHERE t.id = turn; END IF;
    INSERT INTO @turns VALUES (turn, c->>'turn',
      sha256(convert_to(c->>'tenant', 'UTF8')), writer, next, (c->>'open')::boolean, c->>'state', ms,
      ms + (c->>'ttlMs')::float8) ON CONFLICT DO NOTHING;
    IF FOUND THEN
      DELETE FROM @turns WHERE id IN (SELECT t.id FROM @turns t WHERE t.expires <= ms
        AND t.id <> turn LIMIT 8 FOR UPDATE SKIP LOCKED);
      DELETE FROM @reusable WHERE key IN (SELECT r.key FROM @reusable r WHERE r.expires <= ms
        LIMIT 8 FOR UPDATE SKIP LOCKED);
      EXIT;
    END IF;
    -- Another one began the turn: the rule again.
  END LOOP;
  INSERT INTO @records
    SELECT turn, coalesce((SELECT max(r.n) FROM @records r WHERE r.id = turn), 0) + new.n,
      sha256(convert_to(new.it->>0, 'UTF8')), new.it->>0, new.it->>1
    FROM json_array_elements(c->'records') WITH ORDINALITY new (it, n);
  IF json_typeof(c->'events') <> 'null' THEN
    INSERT INTO @events VALUES (turn, (c->'events'->>'last')::bigint, c->'events'->>'text');
  END IF;
  DELETE FROM @events e WHERE e.id = turn AND e.last <= (c->>'forget')::bigint;
  FOR pair IN SELECT * FROM json_array_elements(c->'reusable') LOOP
    INSERT INTO @reusable VALUES (sha256(convert_to(pair->>0, 'UTF8')), pair->>1, ms,
      ms + (pair->>2)::float8)
      ON CONFLICT (key) DO UPDATE SET text = excluded.text, at = excluded.at,
        expires = excluded.expires;
  END LOOP;
  RETURN '{"is":"applied"}';
END $commit$;
END $turnlock$`

/**
 * Where the server's clock was set back, turns count as idle from the first look: an owner that lives
 * commits soon, and one that is gone must not seem alive for as long.
 */
const SET_BACK = 'WITH back AS (UPDATE @turns SET at = @now WHERE at > @now AND'

/** One row with one column each: JSON as text, so that every client gives the same. */
const QUERIES = {
  commit: `SELECT @commit_1($1::text) AS reply`,
  read: `@back id = @key) SELECT json_build_object('owner', t.owner, 'revision', t.revision, 'open', t.open,
  'state', t.state, 'idleMs', greatest(0, @now - t.at), 'records', (SELECT
    coalesce(json_agg(json_build_array(r.name, r.text) ORDER BY r.n), '[]')
    FROM @records r WHERE r.id = t.id))::text AS reply
FROM @turns t WHERE t.id = @key AND t.expires > @now`,
  events: `SELECT coalesce(json_agg(json_build_array(e.last, e.text) ORDER BY e.last), '[]')::text
  AS reply FROM (SELECT e.last, e.text FROM @events e JOIN @turns t USING (id)
  WHERE id = @key AND t.expires > @now AND e.last > $2::text::bigint
  ORDER BY e.last LIMIT $3::text::bigint) e`,
  recall: `SELECT json_build_object('text', r.text, 'ageMs', greatest(0, @now - r.at))::text AS reply
FROM @reusable r WHERE r.key = @key AND r.expires > @now`,
  list: `@back tenant = @key AND open) SELECT coalesce(json_agg(json_build_array(t.name, t.state, greatest(0, @now - t.at))
  ORDER BY t.at DESC), '[]')::text AS reply
FROM (SELECT * FROM @turns WHERE tenant = @key AND open AND expires > @now
  ORDER BY at DESC LIMIT $2::text::bigint) t`,
  standing: `@back id = @key) SELECT json_build_object('owner', t.owner, 'revision', t.revision,
  'idleMs', greatest(0, @now - t.at))::text AS reply
FROM @turns t WHERE t.id = @key AND t.expires > @now`,
}

export type Queries = typeof QUERIES & { schema: string }

/** The statements for a checked prefix. */
export function queriesFor(prefix: string): Queries {
  const bare = prefix.slice(prefix.indexOf('.') + 1)
  const fill = (sql: string) =>
    sql
      .replaceAll('@back', SET_BACK)
      .replaceAll('@now', '(extract(epoch FROM clock_timestamp()) * 1000)')
      .replaceAll('@key', "sha256(convert_to($1::text, 'UTF8'))")
      .replaceAll('@', prefix)
      .replaceAll('#', bare)
  const filled = Object.entries(QUERIES).map(([name, sql]) => [name, fill(sql)])
  return { ...(Object.fromEntries(filled) as typeof QUERIES), schema: fill(SCHEMA).trim() }
}
