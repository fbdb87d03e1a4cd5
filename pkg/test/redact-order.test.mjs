// What is shown where one match lies in another, where a text goes on behind a pause, and at the edges
// of words and addresses.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createRedactor } from 'turnlock/redact'
import { KINDS, Scanner } from '../dist/redactor/scanner.js'
import { DIGIT, runEnd } from '../dist/redactor/view.js'
import { divided, random } from './secrets.mjs'

const GITHUB = `ghp_${random(36)}`
const NAME = 'smith.secret-name'
const LONG = `hunter2 mail bob@example.com ${GITHUB} end`
/** A key that is registered, too. */
const OWN = `ghp_${random(36, 5)}`
const registered = createRedactor({ values: [NAME, LONG, OWN] })
const without = createRedactor()

/** What is shown of a text, whole and in each of its characters. */
function shown(text, redactor = registered) {
  const whole = redactor.redact(text)
  const parts = text.split('').map((unit) => redactor.feed(unit))
  assert.equal(parts.join('') + redactor.end(), whole, text)
  return whole
}
const checked = (cases) => {
  for (const [text, expected] of Object.entries(cases)) {
    assert.equal(shown(text), expected, text)
    // Without values, nothing waits for an escape of one.
    if (!expected.includes(':value]')) assert.equal(shown(text, without), expected, text)
  }
}

test('matches in one another: the first one; of two that begin together, the one that is known first', () => {
  checked({
    // The value is known before the address is.
    [`joe${NAME}@example.com x`]: '[redacted:email] x',
    [`${NAME}@example.com x`]: '[redacted:value] x',
    [`joe ${NAME}@example.com x`]: 'joe [redacted:value] x',
    // An address and a key in a value: nothing of it is shown before it is known.
    [LONG]: '[redacted:value]',
    [`${LONG.slice(0, -1)}ough`]: 'hunter2 mail [redacted:email] [redacted:secret] enough',
    [`password=${GITHUB} x`]: 'password=[redacted:secret] x',
    [`password=${OWN} x`]: 'password=[redacted:secret] x',
    // A key that is registered is a key: by its beginning it is known first.
    [`${OWN} x`]: '[redacted:secret] x',
  })
})

test('a private key ends where its last line does, or with what cannot stand in one', () => {
  const key = (end) => `-----BEGIN RSA ${'PRIVATE'} KEY-----\n${random(64)}\n${end}`
  checked({
    [key(`-----END RSA ${'PRIVATE'} KEY-----hello`)]: '[redacted:secret]hello',
    [key('-----END RSA PRI!VATE KEY-----hello')]: '[redacted:secret]!VATE KEY-----hello',
    [key('abc!hello')]: '[redacted:secret]!hello',
    // A header before it may have any character.
    [key('').replace('\n', `\nComment: <ada@host> [1]!\n\n${random(64, 3)}\n`)]:
      '[redacted:secret]',
  })
})

test('an address is one with `%40` too, and none that only looks like it', () => {
  checked({
    'a%40b.example.com': '[redacted:email]',
    'a%41b.example.com': 'a%41b.example.com',
    'a%50b.example.com': 'a%50b.example.com',
    'a%4': 'a%4',
    'a140b.example.com': 'a140b.example.com',
    'legit@example.com': '[redacted:email]',
    'git@example.com:x/y': 'git@example.com:x/y',
    'joe@2x.example.com': '[redacted:email]',
    'logo@2x.png, joe@example.com': 'logo@2x.png, [redacted:email]',
    // What stands before an `@` of an address is a password; of one before it is not.
    'https://joe:p@ss@host.example/x': 'https://joe:[redacted:secret]@host.example/x',
    'see http://h:80 and mail joe@example.com': 'see http://h:80 and mail [redacted:email]',
    'v-40x.example.com is up': 'v-40x.example.com is up',
    // Also where much of the text has come: what stands for a password is shown.
    [`https://joe:your-password@host.example/x${' and more'.repeat(20)}`]: `https://joe:your-password@host.example/x${' and more'.repeat(20)}`,
  })
})

test('a number within a longer one, or in a word, is no card', () => {
  for (const text of ['94111111111111111', 'x4111111111111111', '4111111111111111x'])
    assert.equal(shown(text), text)
})

test('the name of a service is a word of its own, or a part of a name', () => {
  const masked = (name) => shown(`${name}: "${random(32)}"`) === `${name}: "[redacted:secret]"`
  for (const name of ['okta', 'Okta', 'myOkta', 'MY_OKTA', 'oktaX', 'sentry', 'my-sentry'])
    assert.ok(masked(name), name)
  for (const name of ['XOKTA', 'xokta', 'oktas', 'brOktab', 'myOktab', 'xsentry', 'sentrys'])
    assert.ok(!masked(name), name)
})

test('behind a pause, a text is read as any other', () => {
  const texts = [
    'mail ada.lovelace@example.com.',
    'card 4111 1111 1111 1111.',
    '+1 555 123 4567 x',
    'IBAN DE89 3704 0044 0532 0130 00',
    '192.168.1.17 is it',
    `key ${GITHUB} x`,
    `password = "${random(24)}"`,
    `-----BEGIN RSA ${'PRIVATE'} KEY-----\n${random(64)}\n`,
  ]
  for (const text of texts) {
    const scanner = new Scanner({ kinds: new Set(KINDS), mask: (kind) => `[redacted:${kind}]` })
    let all = scanner.feed('Well. ') + scanner.pause()
    for (const unit of text) all += scanner.feed(unit)
    assert.equal(all + scanner.end(), `Well. ${without.redact(text)}`, text)
  }
})

test('an element that a pause cuts is masked', async () => {
  const text = '<password>hunter2259</password> and more'
  for (let at = '<password>hunt'.length; at <= text.indexOf('</') + 2; at++) {
    const said = await divided(without, [text.slice(0, at), text.slice(at)])
    assert.equal(said, '<password>[redacted:secret]</password> and more', text.slice(0, at))
  }
})

test('a password of an address that a pause cuts is masked, and no port is', async () => {
  const text = 'redis://ada:hunter2259@host/x'
  for (let at = 'redis://ada:h'.length; at <= text.indexOf('/x'); at++) {
    const said = await divided(without, [text.slice(0, at), text.slice(at)])
    assert.equal(said, 'redis://ada:[redacted:secret]@host/x', text.slice(0, at))
  }
  for (const shown of [
    'http://localhost:8080/x',
    'https://host.example/x',
    'http://${U}:${P}@host/x',
  ]) {
    for (let at = 0; at < shown.length; at++) {
      assert.equal(await divided(without, [shown.slice(0, at), shown.slice(at)]), shown)
    }
  }
})

test('the work is counted: what is read ahead, and each character', () => {
  const view = { text: '12345 ', final: true, steps: 0 }
  assert.deepEqual([runEnd(view, DIGIT, 1, 3), view.steps], [4, 4])
  const scanner = new Scanner({ kinds: new Set(KINDS), mask: () => '' })
  scanner.feed('one two')
  assert.ok(scanner.steps >= 'one two'.length)
})

test('of a value that a pause cuts, far into a text, nothing more is shown', async () => {
  const before = 'There is more to say. '.repeat(400)
  const said = await divided(registered, [`${before}${LONG.slice(0, 20)}`, LONG.slice(20)])
  assert.ok(said.startsWith(`${before}[redacted:value]`), said.slice(before.length))
  for (const piece of ['hunter2', 'bob@', GITHUB.slice(0, 12)]) assert.ok(!said.includes(piece))
})

test('what is held back tells so, and a match that a pause divides is masked from there on', () => {
  const scanner = new Scanner({ kinds: new Set(KINDS), mask: (kind) => `[redacted:${kind}]` })
  const holds = (text) => [scanner.feed(text), scanner.holds]
  assert.deepEqual(holds('one two. '), ['one two. ', false])
  assert.deepEqual(holds('three'), ['', true])
  assert.deepEqual(holds(`, ${GITHUB}. `), ['three, [redacted:secret]. ', false])
  assert.deepEqual(holds('4111 1111 11'), ['', true])
  assert.deepEqual([scanner.pause(), scanner.holds], ['4111 1111 11', false])
  assert.deepEqual(holds('11 1111. And '), ['[redacted:card]. And ', false])
  assert.equal(scanner.end(), '')
})

test('the beginning of a long value is shown where it does not go on', () => {
  const value = `begin ${random(300)}`
  const redactor = createRedactor({ values: [value], kinds: ['value'] })
  for (const size of [97, 200, 299]) {
    const text = `a text before it, ${'word '.repeat(30)}${value.slice(0, size)}! and more`
    assert.equal(shown(text, redactor), text)
  }
})

test('the rest of a text is read behind any character, and a colour of twelve', () => {
  checked({
    [`\x80 ${GITHUB} x`]: '\x80 [redacted:secret] x',
    '\x1b[38;5;123;1m4111111111111111': '\x1b[38;5;123;1m[redacted:card]',
    // It goes on: a key of this beginning has sixteen characters behind it.
    [`A3T${random(20).toUpperCase()} x`]: `A3T${random(20).toUpperCase()} x`,
    // No list, and no name of a secret before it.
    [`x,${random(32)}`]: `x,${random(32)}`,
    [`{"key": "x", "${random(32)}": 1}`]: `{"key": "x", "${random(32)}": 1}`,
    [`passenger: "${random(32)}"`]: `passenger: "${random(32)}"`,
    [`Authorization: Basic ${random(40)}`]: 'Authorization: Basic [redacted:secret]',
    // It ends as a sentence does, however long it is.
    [`password: ${'correct-horse-'.repeat(8)}22! x`]: 'password: [redacted:secret]! x',
  })
})

test('a phone is known when what follows it is, and has a form as a whole', () => {
  checked({
    '+1234567890 123,4 x': '[redacted:phone],4 x',
    '+1 415 555 267,5 x': '+1 415 555 267,5 x',
    '1 415 155-2671': '[redacted:phone]',
    '1 415 155 2671': '1 415 155 2671',
    '415-555-2671x22 a': '[redacted:phone]x22 a',
    '415-555-2671xy': '415-555-2671xy',
    '415-555-2671:80 a': '415-555-2671:80 a',
    '+1 415 555 2671:80 a': '+1 415 555 2671:80 a',
    '8 12) 345 67890 x': '8 12) 345 67890 x',
    '8 (12 345 67890 x': '8 (12 345 67890 x',
    '1-388-1234-5678 x': '1-388-1234-5678 x',
    'a:\t138 1234 5678 b': 'a:\t138 1234 5678 b',
    'a: 138 1234 5678 b': 'a: [redacted:phone] b',
    'x 1, 0891234567 y': 'x 1, [redacted:phone] y',
    'x 1,0891234567 y': 'x 1,0891234567 y',
  })
  const { feed, end } = createRedactor()
  assert.equal(feed('- x: +1 415 555 2671;'), '- x: [redacted:phone];')
  assert.equal(end(), '')
})

test('a password of an address may have an `@` up to 63 characters before the last one', () => {
  const [near, far] = [62, 63].map((size) => `redis://u:p1x@${'x'.repeat(size)}@host/x`)
  checked({
    [near]: 'redis://u:[redacted:secret]@host/x',
    'redis://u:p1xa)@y@host/x': 'redis://u:[redacted:secret]@host/x',
    [far]: `redis://u:[redacted:secret]@${'x'.repeat(63)}@host/x`,
  })
})

test('what only begins as a private key ends nothing, and is not waited for', () => {
  const begin = `-----BEGIN ${'PRIVATE'} KEY-----`
  checked({
    [`${begin} is how it begins, mail ada@example.com now`]: `${begin} is how it begins, mail [redacted:email] now`,
    [`${begin} it is`]: `${begin} it is`,
  })
  const { feed, end } = createRedactor()
  const words = `${begin}: words ----- ${'and so on. '.repeat(8)}`
  assert.equal(feed(`${words}x`), words)
  assert.equal(end(), 'x')
})

test('a key that goes on is none, also where it has not come yet', () => {
  const hex = Buffer.from(random(32)).toString('hex').slice(0, 32)
  checked({
    [`is SK${hex} x`]: 'is [redacted:secret] x',
    [`is SK${hex}a x`]: `is SK${hex}a x`,
  })
})

test('a long value goes on where another one in it has ended', () => {
  const long = `password: "x1 password=${'ab1-'.repeat(40)} ${'ab1-'.repeat(200)}`
  checked({
    [`${long} end`]: 'password: "[redacted:secret] end',
    [`${long}" end`]: 'password: "[redacted:secret]" end',
  })
})

test('where no name is looked for, none is held back', () => {
  const { feed, end } = createRedactor({ kinds: ['phone'] })
  assert.deepEqual([feed('hello'), feed(' bob'), end()], ['hello', ' bob', ''])
})

test('names and hosts of addresses, to their longest', () => {
  const host = (size) => `${'x'.repeat(size - 4)}.com`
  checked({
    'Ada\u2000bob@example.com': 'Ada\u2000[redacted:email]',
    "mail O'Brien@example.com x": 'mail [redacted:email] x',
    'mail ada@[192.0.2.1] x': 'mail [redacted:email] x',
    'mail ada@[IPv6:2001:db8::1] x': 'mail [redacted:email] x',
    [`a@${host(254)} x`]: '[redacted:email] x',
    [`a@${host(255)} x`]: `a@${host(255)} x`,
  })
})

test('an account has two digits behind its country', () => {
  const accounts = ['PL61109010140000071219812874', 'CY17002001280000001200527600']
  for (const account of [
    ...accounts,
    'UA213223130000026007233566001',
    'QA58DOHB00001234567890ABCDEFG',
  ])
    assert.equal(shown(`to ${account}, x`), 'to [redacted:iban], x')
  for (const text of IBANS) assert.equal(shown(text), text)
})
/** Of the right sum, but for what stands in the place of the digits. */
const IBANS = ['NOA512345670050', 'NO5A12345670035', 'NOAB12345670078']

test('hosts: the whole of an address, behind names, and what follows it', () => {
  const ip = '[redacted:ip]'
  checked({
    'host ::1 x': `host ${ip} x`,
    'host fe80:: x': `host ${ip} x`,
    'src: 12345:abcd::1 x': 'src: 12345:abcd::1 x',
    'z:2001:db8::1 x': `z:${ip} x`,
    'grab12:2001:db8::1 x': `grab12:${ip} x`,
    'net/::ffff:1.0.0.0 x': `net/${ip} x`,
    'host/120.0.0.0:80 x': `host/${ip}:80 x`,
    'at fe80::1%eth0/64 x': `at ${ip} x`,
    'at fe80::1%eth0 x': `at ${ip} x`,
    'at 10.1.2.3/24 x': `at ${ip} x`,
    'at 10.1.2.3/2444 x': `at ${ip}/2444 x`,
  })
  const hosts = createRedactor({ kinds: ['ip'] })
  assert.equal(shown('at 10.1.2.3/24 x', hosts), `at ${ip} x`)
  const { feed, end } = hosts
  assert.deepEqual([feed('bob'), feed(' 10.1.2.3, and'), end()], ['bob', ` ${ip}, and`, ''])
})

/** In the tables below: what is shown, a random text, a password, a part of a number. */
const MASKED = '[redacted:secret]'
const UUID = [8, 4, 4, 4, 12].map((size) => '0a1b2c3d4e5f'.slice(0, size)).join('-')
const [RANDOM, PASSWORD, HEX] = [random(32), ['hunter', '22!x'].join(''), '0a1b2c3d']

test('what stands behind a name: its quotes, its list, and where it ends', () => {
  checked({
    [`password = b"""${PASSWORD}"""`]: `password = b"""${MASKED}"""`,
    [`define('DB_PASSWORD_2', '${PASSWORD}')`]: `define('DB_PASSWORD_2', '${MASKED}')`,
    [`define('DB_PASSWORD_KEY',  '${PASSWORD}')`]: `define('DB_PASSWORD_KEY',  '${MASKED}')`,
    [`if (a<b && password>${PASSWORD}) {}`]: `if (a<b && password>${MASKED}) {}`,
    [`keys:\n  - "${RANDOM}"\n  - a1b2c3d4e\n`]: `keys:\n  - "${MASKED}"\n  - a1b2c3d4e\n`,
    [`pw: \`${PASSWORD}\`\n- a1b2c3d4e5f6\n`]: `pw: \`${MASKED}\`\n- a1b2c3d4e5f6\n`,
    [`pw: "${PASSWORD}"\n- a1b2c3d4e5f6\n`]: `pw: "${MASKED}"\n- a1b2c3d4e5f6\n`,
    [`pw: "${PASSWORD}"\n- "a1b2c3d4e5f6"\n`]: `pw: "${MASKED}"\n- "a1b2c3d4e5f6"\n`,
    [`keys: ["${RANDOM}"${' '.repeat(25)}ada@example.com`]: `keys: ["${MASKED}"${' '.repeat(25)}[redacted:email]`,
    '"password" xxxxxxxxhunter2259z value=1': '"password" xxxxxxxxhunter2259z value=1',
    'password_for_ada: "hunting2"': 'password_for_ada: "hunting2"',
    [`pick("A", 'PASSWORD', 'sha256x1')`]: `pick("A", 'PASSWORD', 'sha256x1')`,
    [`pick("my PASSWORD", 'sha256x1')`]: `pick("my PASSWORD", 'sha256x1')`,
    [`define( 'S3_PASSWORD', '${PASSWORD}')`]: `define( 'S3_PASSWORD', '${MASKED}')`,
    [`--password  ${PASSWORD}`]: `--password  ${MASKED}`,
    [`password is  "${PASSWORD}"`]: `password is  "${MASKED}"`,
    [`password"${PASSWORD}" y`]: `password"${MASKED}" y`,
    '--password-hunter22x y': '--password-hunter22x y',
    [`keys: ["${RANDOM}" a1b2c3d4e5f6, "x"]`]: `keys: ["${MASKED}" a1b2c3d4e5f6, "x"]`,
    [`keys: ["${RANDOM}" "${random(32, 3)}"]`]: `keys: ["${MASKED}" "${MASKED}"]`,
    [`key: "z${UUID}"`]: `key: "${MASKED}"`,
    [`key: "${UUID}z"`]: `key: "${MASKED}"`,
    [`key: "${UUID}"`]: `key: "${UUID}"`,
    'okta: "id-111111111111111"': 'okta: "id-111111111111111"',
    'okta: "111111111111111-id"': 'okta: "111111111111111-id"',
    [`access: "zq${HEX}${HEX}"`]: `access: "zq${HEX}${HEX}"`,
    [`access: "${HEX}${HEX}zq"`]: `access: "${HEX}${HEX}zq"`,
    [`access: "${HEX}${HEX}"`]: `access: "${MASKED}"`,
    'access: abcdefg1hijkl': 'access: abcdefg1hijkl',
    'access: abcdefg1hijklm': `access: ${MASKED}`,
    'access: "ABCdefghij"': 'access: "ABCdefghij"',
    'access: "ABCDefghij"': `access: "${MASKED}"`,
    'password: "h!DB_PASS2"': `password: "${MASKED}"`,
  })
})

test('what stands behind a name: elements, code, and how long it is', () => {
  checked({
    '<password>hunt1…er22': '<password>hunt1…er22',
    'password = "x1${user}y2"': `password = "${MASKED}"`,
    'password = `x1${n}y2`': 'password = `x1${n}y2`',
    'check(password(" hunting"))': `check(password(" ${MASKED}"))`,
    '<password>[x{y1}]</password>': '<password>[x{y1}]</password>',
    '<password>{vendor abc}</password>': '<password>{vendor abc}</password>',
    '<password>hunter2259<b>x': '<password>hunter2259<b>x',
    '<password>hunter2259<</b>': '<password>hunter2259<</b>',
    [`password=${'a1-'.repeat(42)}x! x`]: `password=${MASKED} x`,
    [`password: "${'a1-'.repeat(166)}xy zz"`]: `password: "${MASKED} zz"`,
    'Authorization: Token ab12345': 'Authorization: Token ab12345',
    [`${'and more '.repeat(20)}Authorization: Token correct-horse-battery-staple-and-more22`]: `${'and more '.repeat(20)}Authorization: Token ${MASKED}`,
    '<password>hunter2259<\\/password> x': `<password>${MASKED}<\\/password> x`,
    'Authorization: Token ab123456': `Authorization: Token ${MASKED}`,
    '{"secret":   12345}': `{"secret":   "${MASKED}"}`,
    '"secret": = 12345': '"secret": = 12345',
    '{"secret": a1234}': '{"secret": a1234}',
    '{"secret": 1234a}': '{"secret": 1234a}',
  })
  const { feed, end } = createRedactor()
  assert.deepEqual([feed('key: a!'), end()], ['key: a!', ''])
  assert.deepEqual([feed('the "key" of it. '), end()], ['the "key" of it. ', ''])
  assert.deepEqual([feed(`keys: ["${RANDOM}"]. `), end()], [`keys: ["${MASKED}"]. `, ''])
})

test('a private key is known by a run, by what a cut has left of it, or by two narrow lines', () => {
  const begin = `-----BEGIN RSA ${'PRIVATE'} KEY-----`
  const letters = random(99).replace(/[^a-z]/gi, '')
  const words = ['internationalization', 'counterrevolutionary']
  const rows = Object.fromEntries(
    ['\n', '\r\n', '\\n', '\\r\\n'].map((gap) => [
      [begin, letters.slice(0, 20), letters.slice(20, 40), ''].join(gap),
      MASKED,
    ]),
  )
  checked({
    ...rows,
    [`${begin}\n${letters.slice(0, 29)}7\n`]: MASKED,
    [`${begin}\n${letters.slice(0, 28)}7\n`]: `${begin}\n${letters.slice(0, 28)}7\n`,
    [`${begin}\r\n${letters.slice(0, 9)}… x`]: `${MASKED}… x`,
    [`${begin}\nsee the words… and`]: `${begin}\nsee the words… and`,
    [`${begin}: it says\n${words.join('\n')}\nend`]: `${begin}: it says\n${words.join('\n')}\nend`,
    [`${begin}\n${words[0]}\n`]: `${begin}\n${words[0]}\n`,
    [`${begin}\na b c d e\n`]: `${begin}\na b c d e\n`,
    [`${begin}\n(${'='.repeat(20)})\n${'-> '.repeat(9)}\n`]: `${begin}\n(${'='.repeat(20)})\n${'-> '.repeat(9)}\n`,
  })
})

test('a cut key is known by a beginning with a sign, in any case', () => {
  const some = `${random(8)}7`
  checked({
    [`is npm_${some}… x`]: `is ${MASKED}… x`,
    [`is NPM_${some}… x`]: `is ${MASKED}… x`,
    [`bearer ${some}… x`]: `bearer ${some}… x`,
  })
})

test('of two that begin together, a phone is shown before a card; what may still be an address is held', () => {
  checked({ 'phone 4222222222222 12 x': 'phone [redacted:phone] x' })
  const { feed, end } = createRedactor()
  assert.deepEqual([feed(GITHUB), feed(' x'), end()], ['', `${MASKED} `, 'x'])
})

test('a key with which a registered value begins is the value, in parts too', () => {
  const key = `ghp_${random(36, 7)}`
  const redactor = createRedactor({ values: [`${key} and more`] })
  assert.equal(shown(`is ${key} and more x`, redactor), 'is [redacted:value] x')
  assert.equal(shown(`is ${key} and less x`, redactor), 'is [redacted:secret] and less x')
})
