// Forms in which other projects write secrets, addresses and numbers: what is found, what is shown,
// that no cut of a stream shows more, and that no form repeated takes more than linear work. Secrets
// are made here, from parts, so that none stands in the repository.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createRedactor } from 'turnlock/redact'
import { BEGINS, BEGINS_PLAIN } from '../tools/redactor/rules.mjs'
import { KINDS, Scanner } from '../dist/redactor/scanner.js'
import { NAMED, NOT_NAMED } from './redact-names.mjs'
import { FOUND as PERSONAL, SHOWN as NOT_PERSONAL } from './redact-rows-personal.mjs'
import { random } from './secrets.mjs'

const hex = (size) => Buffer.from(random(size)).toString('hex').slice(0, size)
const UUID = [8, 4, 4, 4, 12].map((size) => hex(size)).join('-')
const KEY = random(32)
const PASSWORD = ['hunter', '22!x'].join('')
const LINES = [64, 64, 40].map((size, at) => random(size, at))
const [BEGIN, END] = ['BEGIN', 'END'].map((one) => `-----${one} RSA ${'PRIVATE'} KEY-----`)
/** A private key whose lines stand between others of these texts. */
const pem = (before, after) => [BEGIN, ...LINES, END].map((line) => before + line + after).join('')

/** Letters of a key that has no digits. */
const LETTERS = random(60).replace(/\d/g, '')
const PGP = [BEGIN, '', ...LINES, END].join('\n').replaceAll(/RSA (.*) KEY/g, 'PGP $1 KEY BLOCK')

/** `‡` stands where a mask is. */
const FOUND = {
  ...NAMED,
  'names and operators': [
    [`if (apikey == "${KEY}")`, 'if (apikey == "‡")'],
    [`if (password !== '${PASSWORD}') {`, "if (password !== '‡') {"],
    [`os.environ["OPENAI_API_KEY"] = '${hex(32)}'`, `os.environ["OPENAI_API_KEY"] = '‡'`],
    [`$c['password'] = '${PASSWORD}';`, "$c['password'] = '‡';"],
    [`password = @"${PASSWORD}";`, 'password = @"‡";'],
    [`def f(passwd: str = "${PASSWORD}"):`, 'def f(passwd: str = "‡"):'],
    [`token .= "${KEY}"`, 'token .= "‡"'],
    [`setPassword("${PASSWORD}")`, 'setPassword("‡")'],
    [`| api key | ${KEY} |`, '| api key | ‡ |'],
    [`token = '${UUID}'`, "token = '‡'"],
    [`key: "${hex(300)}"`, 'key: "‡"'],
    [`DB_PASSWORD=${'white'}${'duke'}`, 'DB_PASSWORD=‡'],
    [`Server=h;User Id=u;Password=${'good'}${'spec'};Db=d`, 'Server=h;User Id=u;Password=‡;Db=d'],
    [`MYSQLPASS: ${PASSWORD}x`, 'MYSQLPASS: ‡'],
    [`my_pw = "${PASSWORD}"`, 'my_pw = "‡"'],
  ],
  'pairs, elements, lists': [
    [`{"name": "DB_PASSWORD", "value": "${PASSWORD}"}`, '{"name": "DB_PASSWORD", "value": "‡"}'],
    [`- name: DB_PASSWORD\n  value: ${PASSWORD}x`, '- name: DB_PASSWORD\n  value: ‡'],
    [`<add key="Password" value="${'Clear'}${'text'}" />`, '<add key="Password" value="‡" />'],
    [`<secret>{vendor AQAA ${KEY}}</secret>`, '<secret>‡</secret>'],
    [`<password>\n  ${PASSWORD}\n</password>`, '<password>\n  ‡\n</password>'],
    [`token = '${KEY}' | '${random(32, 3)}'`, "token = '‡' | '‡'"],
    [`api_keys: ["${KEY}", "${random(24, 2)}", "b"]`, 'api_keys: ["‡", "‡", "b"]'],
  ],
  'commands and sentences': [
    [`mysql -u root --password ${PASSWORD}x`, 'mysql -u root --password ‡'],
    [`x --api-key "${KEY}"`, 'x --api-key "‡"'],
    [`CREATE USER a IDENTIFIED BY '${PASSWORD}';`, "CREATE USER a IDENTIFIED BY '‡';"],
    [`machine a.example login ada password ${PASSWORD}x`, 'machine a.example login ada password ‡'],
    [`the password is ${PASSWORD}x, and`, 'the password is ‡, and'],
    [`your API key is ${KEY}.`, 'your API key is ‡.'],
    [`using token ${hex(40)} now`, 'using token ‡ now'],
    [`okta token - '${random(40)}'`, "okta token - '‡'"],
    [`asana: ${'1'.repeat(4)}${'2345678901234'}`, 'asana: ‡'],
    [`curl -H "Authorization: Token ${hex(40)}"`, 'curl -H "Authorization: Token ‡"'],
    [`curl -s x \\\n  -u ada:${PASSWORD} | jq`, 'curl -s x \\\n  -u ‡ | jq'],
    [`curl --user "ada:my ${PASSWORD}" x`, 'curl --user "‡" x'],
    [`{"cmd":"curl -u \\"ada:${PASSWORD}\\" x"}`, '{"cmd":"curl -u \\"‡\\" x"}'],
    [`curl x -u${random(20)}: -d a=b`, 'curl x -u‡ -d a=b'],
    [`API_KEYS=${random(24)},${random(24, 2)},${random(24, 3)}`, 'API_KEYS=‡,‡,‡'],
    [`proxy-authorization: SSWS ${random(30)}`, 'proxy-authorization: SSWS ‡'],
  ],
  addresses: [
    [`postgres://ada:${PASSWORD}@db.example:5432/x`, 'postgres://ada:‡@db.example:5432/x'],
    ...['', 'a text before it, '.repeat(6)].map((before) => [
      `${before}mongodb+srv://ada:p@${PASSWORD}@c.example/x`,
      `${before}mongodb+srv://ada:‡@c.example/x`,
    ]),
    [`x?sp=r&sig=${random(43)}%3D`, 'x?sp=r&sig=‡'],
    [
      `https://discord.com/api/webhooks/${'1'.repeat(18)}/${random(68)}`,
      'https://discord.com/api/webhooks/‡',
    ],
    [
      `https://api.telegram.org/bot${'12345678'}:AA${random(33)}/x`,
      'https://api.telegram.org/bot‡/x',
    ],
  ],
  keys: [
    [`"auth": "${Buffer.from(`ada:${PASSWORD}`).toString('base64')}"`, '"auth": "‡"'],
    [['-----BEGIN', 'RSA PRIVATE KEY-----'].join(' '), 40],
    [
      `Private-Lines: 2\n${random(64)}\n${random(20)}\nPrivate-MAC: ${hex(40)}`,
      `Private-Lines: 2\n‡-MAC: ${hex(40)}`,
    ],
    [`$2b$12$${random(53)}`, '‡'],
    [`$6$${random(8)}$${random(86)}`, '‡'],
    [`eyJ${random(20)}.${random(30)}.${random(40)}`, '‡'],
  ].map(([text, shown]) =>
    shown === 40 ? [Buffer.from(text + random(90)).toString('base64'), '‡'] : [text, shown],
  ),
  'private keys': [
    [`key: |\n${pem('      ', '\n')}`, 'key: |\n      ‡\n'],
    [pem('> ', '\n'), '> ‡\n'],
    [pem('# ', '\n'), '# ‡\n'],
    [pem('     7\t', '\r\n'), '     7\t‡\r\n'],
    [pem('    12→', '\n'), '    12→‡\n'],
    [pem(' 12 │ ', '\n'), ' 12 │ ‡\n'],
    [pem("  '", "\\n' +\n"), "  '‡\\n' +\n"],
    [`<p>${pem('', '<br>')}</p>`, '<p>‡<br></p>'],
    [pem('', '&#10;'), '‡&#10;'],
    [encodeURIComponent(pem('', '\n')), '‡%0A'],
    [encodeURIComponent(PGP), '‡'],
    [
      `${BEGIN}\nComment: D88E 6EB7 A4B2 C1D2 E3F4\nComment: Ada (of 1815)\n\n${LINES.join('\n')}\n${END}\n`,
      '‡\n',
    ],
    [`${BEGIN}\n${LINES[0].slice(0, 20)}…`, '‡…'],
  ],
  'keys that end, are cut or made up': [
    [`AC${hex(32)}, SK${hex(32)}. ${hex(32)}-us12`, '‡, ‡. ‡'],
    [`with ghp_${random(10)}… and`, 'with ‡… and'],
    [`with ghp_aB1c… and`, 'with ‡… and'],
    ['with AKIAQ3RTY7… or sk-aB1cD2… and', 'with ‡… or ‡… and'],
    [`ghp_${LETTERS.slice(0, 36)} sk-${LETTERS.slice(0, 40)}`, '‡ ‡'],
    [`=..aB38Q~${random(34)}`, '=..‡'],
    [`ghp_${'a1'.repeat(18)} sk-${'0'.repeat(40)}`, '‡ ‡'],
    [`sk-${'abcx'.repeat(10)}`, '‡'],
    [`redis://u:${PASSWORD}@h and ada@example.com`, 'redis://u:‡@h and ‡'],
    [`["redis://u:${PASSWORD}@h:6379","ada@example.com"]`, '["redis://u:‡@h:6379","‡"]'],
    [`redis://u:${PASSWORD}@h,ada@example.com`, 'redis://u:‡@h,‡'],
  ],
  emails: [
    ["o'brien@example.com, 'ada@example.org'", "‡, '‡'"],
    ['to "ada..l"@example.com', 'to ‡'],
    [
      '{"at":"http://localhost:80","mail":"ada@example.com"}',
      '{"at":"http://localhost:80","mail":"‡"}',
    ],
    ['http://localhost:80?mail=ada@example.com', 'http://localhost:80?mail=‡'],
    ['<a href="http://a.example:80">ada@example.com</a>', '<a href="http://a.example:80">‡</a>'],
    ['иван@пример.рф δοκιμή@example.gr', '‡ ‡'],
    ['ada@[192.0.2.1] ada@[IPv6:2001:db8::1].', '‡ ‡.'],
  ],
  hosts: [
    ['ip:10.0.0.1 addr=10.0.0.0/8, fe80::1%eth0/64.', 'ip:‡ addr=‡, ‡.'],
    ['http://[::ffff:192.0.2.1]:80', 'http://[‡]:80'],
    ['x::ffff:192.0.2.1', 'x::ffff:‡'],
  ],
  accounts: [
    ['IR200170000000339545727003', '‡'],
    ['DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000', '‡'],
  ],
  cards: [
    ['8171999900000000021 122000000000003', '‡ ‡'],
    ['card:4111111111111111', 'card:‡'],
    ['Ada,4111111111111111,12/26\n7,4111 1111 1111 1111,9', 'Ada,‡,12/26\n7,‡,9'],
  ],
  phones: [
    ['(+44) (555)123-1234', '‡'],
    ['+1(567)362-8910 +31(0)612345678', '‡ ‡'],
    ['0 532 123 45 67; 0 (917) 123 4567; 8 912 345-67-89', '‡; ‡; ‡'],
    ['532-123-45-67, 09-7625400, 090-1234-5678', '‡, ‡, ‡'],
    ['02 1234 5678, 021 234 56 78, 0551 23 45 67', '‡, ‡, ‡'],
    ['09171234567, 0612345678', '‡, ‡'],
    ['tel:+1-415-555-2671 phone:4155552671', 'tel:‡ phone:‡'],
    ['手机：13812345678 and my number is 13812345678', '手机：‡ and my number is ‡'],
    ['+1.4155552671', '‡'],
  ],
  'phones of an area': [
    ['(030) 901820, (0171) 1234567, (04131) 12345-0', '‡, ‡, ‡'],
    ['(11) 98765-4321, (55) 1234 5678, (01234) 567890', '‡, ‡, ‡'],
    ['021 123 4567, 031-123-4567, (086) 123-4567', '‡, ‡, ‡'],
    ['555-123-4567, (123) 456-7890, 1-800-123-4567', '‡, ‡, ‡'],
    ['123-456-7890', '‡'],
    ['138-1234-5678, 138 1234 5678, 170 1234 5678', '‡, ‡, ‡'],
    ['手机：138 1234 5678，我的号码 138 1234 5678', '手机：‡，我的号码 ‡'],
    ['| 138 1234 5678 | 138-1234-5678 |', '| ‡ | ‡ |'],
    ['id,phone\n0,0612345678\n7,0612345679\n', 'id,phone\n0,‡\n7,‡\n'],
    ['2, 0,0612345678,3', '2, 0,‡,3'],
    ['8-800-555-3535, 8(495)1234567, 7 495 123 45 67', '‡, ‡, ‡'],
    ['0-212-123-4567, 0 (532) 1234567, 0 (30) 9018200', '‡, ‡, ‡'],
    ['0812 3456 7890, 0151 2345 6789, 098765 43210', '‡, ‡, ‡'],
    ['01701234567, 030 901820, 070-123 45 67', '‡, ‡, ‡'],
    ['089 123456-0, 030 12345-6789, 0800 83 83 83', '‡, ‡, ‡'],
    ['089 / 123456, 0171 - 1234567; 030 901820 / 030 901821', '‡, ‡; ‡ / ‡'],
    ['Tel.030 901820, No.0612345678', 'Tel.‡, No.‡'],
    ['Ada,415-555-2671,94107\n7,0612345678,3', 'Ada,‡,94107\n7,‡,3'],
    ['415-555-2671x22, +1 415 555 2671x3', '‡x22, ‡x3'],
    ['415-555-2671 - 24 hours', '‡ - 24 hours'],
    ['1 415 555 2671, 91 987 654 3210, 415 - 555 - 2671', '‡, ‡, ‡'],
    ['020 7946 0958 24 hours, 1 (800) 123-4567', '‡ 24 hours, ‡'],
  ],
  'phones abroad': [
    ['0049 30 901820, 00 49 30 901820, 0033-612345678', '‡, ‡, ‡'],
    ['011 44 20 7946 0958, 001-415-555-2671x22', '‡, ‡x22'],
    ['+49 171 - 1234567, +49 (0)5241 / 123456, +(49) 30 901820', '‡, ‡, ‡'],
    ['Ada,+14155552671,36', 'Ada,‡,36'],
    ['+290 22222, +12345678', '‡, ‡'],
  ],
  'words before phones': [
    ['phones: 4155552671, 4155552672 or 4155552673', 'phones: ‡, ‡ or ‡'],
    ['"phones":["4155552671","4155552672"]', '"phones":["‡","‡"]'],
    ['mob: 9876543210, Ph. 9876543210', 'mob: ‡, Ph. ‡'],
    ['you can reach me at 4155552671', 'you can reach me at ‡'],
    ['tel 100-200-3000, phone 138 1234 5678', 'tel ‡, phone ‡'],
    ['her number is 13812345678, Number: 13812345678', 'her number is ‡, Number: ‡'],
    ['please contact us on 5552671', 'please contact us on ‡'],
    [
      'the best time to call me is now, my number is 5552671',
      'the best time to call me is now, my number is ‡',
    ],
  ],
  ...PERSONAL,
}

const SHOWN = [
  ...NOT_NAMED,
  'password: ${DB_PASSWORD}, $PASSWORD, {{password}}, %PASSWORD%, <password>, your_password, xxxxxxxx',
  'password = process.env.PASSWORD2, config.password1, DB_PASSWORD_2',
  'https://${user}:${pass}@h.example https://{{u}}:{{p}}@h.example http://$(U):$(P)@h.example/x',
  "typeof apiKey === 'function', token: 'refresh-token', API_KEY = \"OPENAI_API_KEY\"",
  "password : ''  , other: b1c2d3; secret(`abc_`), API key: https://host.example/a1?b=c2",
  '"pbkdf2-password": "1.2.1", sk-... and `Basic ${Buffer.from(a1)}`',
  `publicKey = "${KEY}", csrf-token=${KEY}, key_id: "${KEY}", apiVersion: v1beta1.a2b3c4`,
  `monkey: ${KEY}, keyword = "${random(8)}", rookTable = ${KEY}`,
  'perplexity/pplx-decider-flash-v1.2 xai/xai-code-execution-tool.1.json sk-fading-circle-2-words',
  'GLC_CreateLightmapTextureArray(void) hf_transfer_enabled_somewhere2',
  'the password is required, the key is to understand, a token is short-lived',
  '1.2.3.04 01:02:03:04:05:06:07:ab 192.168.1.1.1 256.1.1.1/24 std::x ::',
  '0.010518105 0.1261379 1.23456789 +123.456789 (-12.3456789, +90.1234)',
  '078-05-1120 085-12-3456 02540-4119 AL47 2121 1009 0000 0002 3569 8740 01-23-45-67-89-ab',
  '0306406152 0000012345 01234567890 1699999999 2024-01-02 15:04:05 order number is 12345678',
  'cell A1: 123 hotel 5551234567x and 192.168.100.200.1',
  'on 01/02/2024 10 units, 01.02.2024, 05/2020 - 06/2021, 01/02/2024 - 03/04/2024, 08.30 - 17.00',
  '0-306-40615-2, 0-13-110362-8, 0 0 1024 65536 12; 0 1 2 3 4 5 6, 100 200 300, 10 20 30 40 50, 24 240 100 4096',
  '212.168.10.20 010.123.45.67 (123456) 789012, (12) 345678, 850000 (12345), delta +00000042',
  '+1234567 and +1.234567890, +1234567890123456, number is 213812345678, number 138123456789',
  '012345678905, 4006381333931, 0012345678905, 061234567, 01234567 12345678, 0123 4567 8901 2345',
  'sk-READING-THE-MANUAL-OF-THESE-LONG-FORMS, xoxb-READING-THE-MANUAL-OF-FORMS',
  '000 12345 67890, x%2By=12345678',
  'curl -u $USER:$PASS x, curl --user "${U}:${P}", curl -u <user>:<pass>, curl -u user:password x',
  'docker run -u 1000:1000 x, non-uniform: yes, sudo -u postgres psql',
  'token=none,expires_in=3600,scope=read1,write2 api_key=abc,def,ghi',
  '0,0612345678',
  'ein Wert von 0,0612345678 und x=12,0612345678, y: 3,0612345678',
  '100-200-3000, pages 100-150-2000',
  '138 4096 8192',
  ' 138 4096 8192 README.md\nmemory 138 4096 8192 bytes',
  'a number of bytes 13812345678, bits 011 22 33, 0 (1) 2 3 and order 2024-415-555-2671',
  'invoice 000123-456789, part 0012-34567, RUT 09876543-2, customer 61 0612345678',
  '0612345678.jpg, 0612345678-1.log, 0612345678abcdef, 20.0612345678, 12:0612345678',
  `${BEGIN}\\n\${body}\\n${END}, ${BEGIN} header is missing in the file, ${END}`,
  `${BEGIN}\n********\n${END} and the commit ${hex(40)}`,
  `grep -e "${BEGIN}" -r /usr/local/share/certificates/private | head -n 5; less of the same file`,
  'hf_transfer…, ghp_aB1…, sk-fading…, the AC97ab… codec, b2 and npm_config… of a1',
  'AKIAXXXXXXXXXXXXXXXX, ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
  `disk-${hex(32)} AC${hex(40)} ac${hex(32)} ${hex(40)}-us1 eu-us12 task-${KEY} ghp_aB1c2`,
  `${[BEGIN, LINES[0], END].join('\n').replaceAll('PRIVATE', 'PUBLIC')}\n`,
  '/v1/users-0612345678, a/0612345678/b, 1,234,567,890, $1,234,567.89',
  'graph 12345678, php 8123456, photo 12345678, the call took 1234567 steps, phone 123456',
]

/** What is shown of a text that comes in each of its characters. */
const inUnits = ({ feed, end }, text) => text.split('').map(feed).join('') + end()

for (const [name, forms] of Object.entries(FOUND)) {
  const redactor = createRedactor({ mask: () => '‡' })
  test(`found: ${name}`, () => {
    for (const [text, shown] of forms) assert.equal(redactor.redact(text), shown)
  })
  test(`found in each of its characters: ${name}`, () => {
    for (const [text] of forms)
      assert.equal(inUnits(redactor, `${text}\n`), redactor.redact(`${text}\n`))
  })
}

test('shown in each of its characters', () => {
  const redactor = createRedactor()
  for (const text of [...SHOWN, ...NOT_PERSONAL])
    assert.equal(inUnits(redactor, `${text}\n`), redactor.redact(`${text}\n`))
})

test('shown: what only looks like one', () => {
  for (const text of SHOWN) {
    const kinds = KINDS.filter((kind) => kind !== 'ip' || text.startsWith('1.2.3.04'))
    assert.equal(createRedactor({ kinds }).redact(text), text)
  }
  for (const text of NOT_PERSONAL) assert.equal(createRedactor().redact(text), text)
})

test('found: the beginnings of keys, and no word that begins so', () => {
  const { redact } = createRedactor({ mask: () => '‡' })
  for (const begin of [...BEGINS, ...BEGINS_PLAIN]) {
    assert.equal(redact(`(${begin}${random(40)})`), '(‡)', begin)
    assert.equal(redact(`${begin}${'a'.repeat(3)}-of-words-in-a-row`).includes('‡'), false, begin)
  }
})

const ALL = [
  ...Object.values(FOUND).flatMap((forms) => forms.map(([text]) => text)),
  ...SHOWN,
  ...NOT_PERSONAL,
]

test('every cut, also in each character', () => {
  const redactor = createRedactor()
  const streamed = (text, cuts) => {
    let [shown, from] = ['', 0]
    for (const cut of [...cuts, text.length]) {
      shown += redactor.feed(text.slice(from, cut))
      from = cut
    }
    return shown + redactor.end()
  }
  for (const text of ALL.map((one) => `${one}\n`)) {
    const whole = redactor.redact(text)
    assert.equal(streamed(text, [...Array(text.length).keys()]), whole)
    for (let at = 0; at <= text.length; at++)
      assert.equal(streamed(text, [at]), whole, `${at}: ${text}`)
    for (let at = 0; at < text.length; at += 3) {
      assert.equal(streamed(text, [at, Math.min(text.length, at + 7)]), whole, `${at}+7: ${text}`)
    }
  }
})

test('hostile: every form again and again', () => {
  for (const unit of ALL) {
    const steps = (size) => {
      const text = unit.repeat(Math.ceil(size / unit.length))
      const scanner = new Scanner({ kinds: new Set(KINDS), values: undefined, mask: () => '' })
      scanner.feed(text)
      scanner.end()
      return scanner.steps / text.length
    }
    const [tenth, all] = [steps(4_000), steps(40_000)]
    assert.ok(all <= 100, `${all} steps a character of ${unit}`)
    assert.ok(all <= tenth * 1.1 + 0.5, `${tenth} and ${all} steps a character of ${unit}`)
  }
})
