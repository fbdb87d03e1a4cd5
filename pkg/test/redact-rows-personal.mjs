// E-mail addresses, cards, accounts, hosts and phones as they are written, for `redact-forms.test.mjs`:
// what is found, and what only looks like one.
import { random } from './secrets.mjs'

/** Digits that begin so, with Luhn's check digit: a card's, but for its beginning and length. */
export function card(begin, size) {
  const digits = `${begin}123456789012345678`.slice(0, size - 1)
  const sum = [...digits].reverse().reduce((sum, one, at) => {
    const twice = Number(one) * (2 - (at % 2))
    return sum + (twice > 9 ? twice - 9 : twice)
  }, 0)
  return `${digits}${(10 - (sum % 10)) % 10}`
}
/** Beginnings and lengths, such as `4: 13 16`. */
const cards = (all) =>
  Object.entries(all).flatMap(([begin, sizes]) => sizes.map((size) => card(begin, size)))

const VISA = card('4', 16)
const IBAN = 'DE89370400440532013000'
const inFours = (text, gap) => text.match(/.{1,4}/g).join(gap)
/** Each of them, with one mask for each. */
const each = (all) => [all.join(' ; '), all.map(() => '‡').join(' ; ')]

/** Each of them on a line of its own and behind a tab, in JSON, and in JSON within JSON. */
const inJson = (all) =>
  [(lines) => ({ lines }), (lines) => JSON.stringify({ lines })].flatMap((make) =>
    ['\n', '\t'].map((gap) =>
      [all, all.map(() => '‡')].map((lines) => JSON.stringify(make(`a:${gap}${lines.join(gap)}`))),
    ),
  )

/** `‡` stands where a mask is. */
export const FOUND = {
  'behind an escape, which stays': [
    [
      String.raw`"\u0027415-555-2671\u0027 \u0020234 567 7651"`,
      String.raw`"\u0027‡\u0027 \u0020‡"`,
    ],
  ],
  'emails in sentences': [
    ['Àlex.Puig@example.cat and ada@пример.онлайн.', '‡ and ‡.'],
    ['ada@例え.jp、「ada@例え.日本」，ada@例え.日本？', '‡、「‡」，‡？'],
    ['ada@example.com或bob@example.org', '‡或‡'],
    ['ada@xn--e1afmkfd.xn--p1ai.', '‡.'],
    ['write to ada@example.com--or call; ada@example.com-- no', 'write to ‡--or call; ‡-- no'],
    ['mail%3Aada%40example.com', '‡'],
    [`${'a'.repeat(70)}@example.com now`, `${'a'.repeat(6)}‡ now`],
  ],
  'cards by brand': [
    each(
      cards({ 4: [13, 16, 19], 51: [16], 59: [16], 2221: [16], 2720: [16], 34: [15], 37: [15] }),
    ),
    each(cards({ 30: [14], 36: [14], 38: [14, 16], 39: [16], 3528: [16], 3589: [16], 354: [16] })),
    each(
      cards({ 6011: [16], 62: [16, 17, 18, 19], 81: [16], 82: [16], 220: [16], 5018: [13, 19] }),
    ),
    each(cards({ 8600: [16], 9704: [16, 19], 9792: [16], 9860: [16], 1220: [15], 2131: [15] })),
  ],
  'cards in groups': [
    each([' ', '  ', '-', ' - ', '.', '+', '\u00a0', '\u2013'].map((gap) => inFours(VISA, gap))),
    each([inFours(card('36', 14), ' '), inFours(card('4', 19), ' '), inFours(card('37', 15), '-')]),
    [`${VISA.slice(0, 6)} ${VISA.slice(6)} 123; ${inFours(VISA, ' ')} 5 times`, '‡ 123; ‡ 5 times'],
    [`${inFours(VISA, ' ')} ${inFours(card('55', 16), ' ')}`, '‡ ‡'],
  ],
  'cards in tables and addresses': [
    [`id,name,card\n1,Ada,${VISA},12/26\n2,${VISA}`, 'id,name,card\n1,Ada,‡,12/26\n2,‡'],
    [`[1,${VISA},2]`, '[1,"‡",2]'],
    [`visa16 ${inFours(VISA, ' ')}, XX12 ${inFours(VISA, ' ')}`, 'visa16 ‡, XX12 ‡'],
    [`SE12 5000 and NO12 visa ${inFours(VISA, ' ')}`, 'SE12 5000 and NO12 visa ‡'],
    [`DE12 3704 and ${inFours(VISA, ' ')}`, 'DE12 3704 and ‡'],
    [`DE12 ${VISA}, карта${VISA}`, 'DE12 ‡, карта‡'],
    [`?q=card%3D${VISA}`, '?q=card%3D‡'],
    [`DE12 3704 ${inFours(VISA, ' ')}, ${inFours(VISA, '.')}.5`, 'DE12 3704 ‡, ‡.5'],
  ],
  'accounts in groups': [
    each([' ', '  ', '-', '.', '+', '\u202f', '\n'].map((gap) => inFours(IBAN, gap))),
    each(['de89 3704 0044 0532 0130 00', IBAN.replace('E', 'e'), 'GB82 west 1234 5698 7654 32']),
    [`iban%3D${IBAN}, счёт${IBAN}`, 'iban%3D‡, счёт‡'],
  ],
  'hosts in logs': [
    ['64:ff9b::192.0.2.33, 2001:db8:1:2:3:4:5:10, ff02::fb', '‡, ‡, ‡'],
    ['src:2001:db8::1 IPv6:fe80::1 host:10.0.0.1', 'src:‡ IPv6:‡ host:‡'],
    ['192.168.001.010 and 10.0.0.1... or 2001:db8::7: none', '‡ and ‡... or ‡: none'],
    ['tcp6 2001:db8:0:0:0:0:0:1:443', 'tcp6 ‡:443'],
    ['0:0:0:0:0:0:0:1, 0:0:0:0:0:ffff:192.0.2.33', '‡, ‡'],
    ['ada@[192.0.2.1, 192.0.2.2]', 'ada@[‡, ‡]'],
    ['?ip%3D10.0.0.1&x', '?ip%3D‡&x'],
    ['version: at 10.0.0.1, host 1:2::3', 'version: at ‡, host ‡'],
    ['conversion: 10.0.0.1 host/10.0.0.1 10.0.0.0', 'conversion: ‡ host/‡ ‡'],
  ],
  'versions of four numbers': [
    'Version 1.2.3.4, App-Version: 4.5.6.7, "version":"2.0.0.1", version = 10.0.0.1',
    JSON.stringify(JSON.stringify({ version: '10.0.0.1' })),
    'Mozilla/5.0 (X11) Chrome/120.0.0.0 Safari/537.36 Edg/120.0.0.0',
  ].map((text) => [text, text]),
  'behind colours and in Markdown': [
    [`\x1b[1;31m${VISA}\x1b[0m`, '\x1b[1;31m‡\x1b[0m'],
    ['"\\u001b[32m415-555-2671\\u001b[0m"', '"\\u001b[32m‡\\u001b[0m"'],
    [`_${inFours(VISA, ' ')}_ or __10.0.0.1__ or _415-555-2671_`, '_‡_ or __‡__ or _‡_'],
    [`_${IBAN}_ or _ghp_${random(36)}_ or 10.0.0.1_2026.log`, '_‡_ or _‡ or ‡_2026.log'],
  ],
  'behind what JSON escapes': [
    ...inJson([
      VISA,
      IBAN,
      '10.0.0.1',
      '2001:db8::7',
      '415-555-2671',
      '+14155552671',
      'ada@a.example',
    ]),
    ...inJson([`ghp_${random(36)}`, `AKIA${'QWERTYUIOPASDF23'}`, `eyJ${random(20)}.${random(30)}`]),
    ['"\\ntel 555-2671\\ncall 5552671"', '"\\ntel ‡\\ncall ‡"'],
    ['"\\u003cada@example.com\\u003e \\u002B14155552671"', '"\\u003c‡\\u003e ‡"'],
  ],
  'phones in tables and addresses': [
    ['1,Ada,415-555-2671\n2,Bob,(415) 555-2671,x', '1,Ada,‡\n2,Bob,‡,x'],
    ['1,0612345678,2; 1,+14155552671,2; a,+1 415 555 2671,2', '1,‡,2; 1,‡,2; a,‡,2'],
    ['phone,4155552671,12', 'phone,‡,12'],
    ['089 /123456, 1-800.555.0199, 004930 901 8200, |138 1234 5678|', '‡, ‡, ‡, |‡|'],
    ['room 3 (012) 345 67890, page 12 (800) 5551234', 'room 3 ‡, page 12 ‡'],
    ['To=%2B14155552671&q=tel%3A415-555-2671', 'To=%2B‡&q=tel%3A‡'],
  ],
}

export const SHOWN = [
  'npm i react@next numpy@1.26.0rc1 react@19.0.0rc vue@3.alpha1 && ssh deploy@build',
  '<meta name="site" content="@ada.dev">, matrix@[0:3], slice@[1], ask bob@work...thanks, buy 3@20… and',
  // Of other lengths, and beginnings that nobody has.
  cards({
    4: [14, 15, 17, 18],
    51: [15, 17],
    2220: [16],
    2721: [16],
    34: [14],
    36: [13, 17],
  }).join(),
  cards({ 3527: [16], 3590: [16], 62: [15], 83: [16], 2206: [16], 8601: [16], 1000: [15] }).join(),
  // Numbers side by side, the bytes of a file, a mistyped account.
  `${VISA.slice(0, 8)} ${VISA.slice(8)}, ${VISA.slice(0, 7)} ${VISA.slice(7)}`,
  `${VISA.slice(0, 4)}.${VISA.slice(4, 8)} ${VISA.slice(8, 12)}.${VISA.slice(12)}`,
  `${card('36', 14).match(/../g).join(' ')}, ${inFours(VISA, ', ')}, | ${inFours(VISA, ' | ')} |`,
  inFours(VISA, '    '),
  `DE12 ${inFours(VISA, ' ')} 00, DE12 3704 ${inFours(card('36', 14), ' ')}`,
  `https://host.example/items/${VISA} 0.${VISA} v-${VISA} 12:${VISA} ${VISA}0 x${VISA}`,
  `${IBAN}12 ${IBAN.slice(0, -1)}1 ${inFours(IBAN, ', ')} X${IBAN}`,
  'items[::2] items[1::2] s[10::30] s[::-1] s[::10] s[10::1] s[::100] Cafe::Fade std::b2::c3 codes::E100 2001:db8::1.5 1.2.3',
  'total + 12345678 and 2 + 14155552671, +1 2 3 4 5 6 7 8 9 10',
  '+12.345.678,90 € and +1 234 567 890,50 €',
  // Decimals, whose digits may be those of a card, and what goes on behind such digits.
  `{"duration":${VISA.slice(0, 3)}.${VISA.slice(3)}} ${VISA.slice(0, 6)}.${VISA.slice(6)} ${VISA}.5 ${inFours(VISA, ' ')}.5`,
  // Points of a drawing, an amount, numbers of frames and lots, a place in a genome, calls.
  'points="1040,277.764 1035,267.764" d="M0 011.067 12 2.926" 13,178,002.113936031',
  'frames 008396-046503, lot 006985/722969, 0049/3090182012, phone 12 1234567x, f 1 (23) 45678, [009979/397063], ref 0618-5089-4',
  'chr 1 (248956422), f(0)(1234567890), DFARS 252.227-7013',
]
