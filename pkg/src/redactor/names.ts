/** Words for "password" in languages other than English, and the values that follow them. */
import { outerEnd, type Context } from './context.js'
import { back, NO, unknown, WAIT, type View } from './view.js'
import { valuesOf, type Values } from './values.js'

/** Words of scripts with spaces between words. `-`: the parts are written together or apart. */
const WORDS = [
  // German, French, Spanish, Portuguese, Italian (also Turkish, Bulgarian, Romanian: parola), Dutch, Afrikaans,
  // Luxembourgish, Frisian
  'passwort passwörter kennwort kennwörter mot-de-passe mots-de-passe mdp contraseña clave senha palavra-passe',
  "parola-d'ordine parola-chiave parola wachtwoord wagwoord passwuert wachtwurd",
  // Polish, Czech, Slovak, Slovenian, Croatian, Serbian, Russian, Ukrainian, Bulgarian
  'hasło hasła hasłem heslo hesla heslem geslo lozinka zaporka лозинка пароль пароля паролем парола',
  // Turkish, Azerbaijani, Uzbek, Turkmen, Kazakh, Kyrgyz, Tajik, Tatar, Mongolian, Kurdish
  'şifre şifrə parol maxfiy-so‘z açar-sözi құпия-сөз сырсөз парол гузарвожа серсүз нууц-үг şîfre peyva-derbasbûnê',
  // Swedish, Norwegian, Danish, Icelandic, Faroese, Finnish, Estonian, Latvian, Lithuanian, Hungarian, Albanian
  'lösenord passord adgangskode kodeord lykilorð loyniorð salasana salasõna parool parole slaptažodis jelszó jelszava ' +
    'fjalëkalim fjalëkalimi',
  // Irish, Welsh, Gaelic, Breton, Esperanto, Haitian
  'pasfhocal focal-faire cyfrinair facal-faire ger-tremen pasvorto modpas',
  // Greek, Armenian, Georgian, Hebrew, Yiddish
  'κωδικός κωδικός-πρόσβασης συνθηματικό գաղտնաբառ ծածկագիր პაროლი סיסמה סיסמא סיסמת פאַראָל',
  // Arabic; Persian; Urdu and Western Punjabi; Sindhi, Pashto, Kurdish, Uyghur
  'كلمة-المرور كلمة-مرور كلمة-السر الرقم-السري رمز-المرور كلمه-المرور رمز-عبور کلمه-عبور گذرواژه پسورد ' +
    'پاس-ورڈ پاسورڈ پاسورڊ پټنوم پاسورډ وشەی-نهێنی تێپەڕەوشە پارول',
  // Hindi, Marathi, Nepali, Bhojpuri; Bengali, Punjabi, Gujarati, Odia
  'पासवर्ड कूटशब्द संकेतशब्द गुप्तशब्द परवलीचा-शब्द गोप्यशब्द পাসওয়ার্ড পাসওয়র্ড ਪਾਸਵਰਡ પાસવર્ડ ପାସୱାର୍ଡ ପାସୱର୍ଡ',
  // Tamil, Telugu, Kannada, Malayalam, Sinhala
  'கடவுச்சொல் பாஸ்வேர்ட் పాస్వర్డ్ సంకేతపదం ಪಾಸ್ವರ್ಡ್ ಗುಪ್ತಪದ പാസ്വേഡ് പാസ്വേർഡ് രഹസ്യവാക്ക് මුර-පදය මුරපදය',
  // Indonesian, Malay, Javanese, Sundanese, Vietnamese, Tagalog, Catalan, Galician, Basque, Occitan
  'kata-sandi kata-laluan tembung-sandi kecap-sandi mật-khẩu mật-mã kontrasenyas contrasenya contrasinal pasahitza senhal',
  // Swahili, Hausa, Yoruba, Igbo, Somali, Oromo, Zulu, Xhosa, Malagasy, Kinyarwanda; Amharic, Tigrinya
  'nenosiri neno-la-siri kalmar-sirri kalmar-wucewa ọ̀rọ̀-aṣínà ọ̀rọ̀-ìgbaniwọlé okwuntughe paswọọdụ ereyga-sirta ' +
    'erayga-sirta furaha-sirta jecha-darbii jecha-icciitii iphasiwedi ipasiwedi tenimiafina teny-miafina ijambobanga ' +
    'የይለፍ-ቃል የይለፍ-ቃል ይለፍ-ቃል መሕለፊ-ቃል',
  // Loan words; what follows the English word itself is read by `context.ts`.
  'password',
]
/** Words of scripts without spaces: Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese. */
const JOINED =
  '密码 密碼 口令 通行码 パスワード 暗証番号 合言葉 비밀번호 패스워드 암호 รหัสผ่าน พาสเวิร์ด ລະຫັດຜ່ານ ពាក្យសម្ងាត់ លេខសម្ងាត់ စကားဝှက် လျှို့ဝှက်နံပါတ်'

const OTHERS: Record<string, string> = {
  ł: 'l',
  ı: 'i',
  đ: 'd',
  ð: 'd',
  ø: 'o',
  ς: 'σ',
  ß: 's',
  // Azerbaijani, which is also written without it.
  ə: 'e',
  '’': "'",
}
const MARK = /\p{M}/u
const LETTER = /\p{L}/u

/** A character in lower case without its marks; `''` for a mark, a space for what divides a name. */
function folded(code: number): string {
  if (code < 128) {
    const character = String.fromCharCode(code).toLowerCase()
    return /[_\s-]/.test(character) ? ' ' : character
  }
  if (code === 0xa0) return ' '
  // Formatting between letters: joiners and soft hyphens.
  if (code === 0xad || (code >= 0x200b && code <= 0x200f)) return ''
  const character = String.fromCharCode(code)
  if (MARK.test(character)) return ''
  const [base = ''] = character.toLowerCase().normalize('NFD')
  return OTHERS[base] ?? base
}

/** Characters whose folded form is remembered; Chinese and Korean are their own. */
const REMEMBERED = 0x3100
const remembered = new Uint16Array(REMEMBERED)
/** The code of the folded character; 0 for a mark, which is skipped. */
function foldedCode(code: number): number {
  // Full width.
  if (code >= 0xff01 && code <= 0xff5e) return foldedCode(code - 0xfee0)
  if (code >= REMEMBERED) return code
  // 1 is no character of a name: it stands for a mark.
  const cached = (remembered[code] ||= folded(code).charCodeAt(0) || 1)
  return cached === 1 ? 0 : cached
}
/** What a character is for the border of a word. */
const [OTHER, CAPITAL, SMALL] = [0, 1, 2]
function kindOf(code: number): number {
  const character = String.fromCharCode(code)
  return !LETTER.test(character) ? OTHER : /\p{Lu}/u.test(character) ? CAPITAL : SMALL
}
const ASCII = 128
const KINDS = Uint8Array.from({ length: ASCII }, (_, code) => kindOf(code))
const FOLDED = Uint8Array.from({ length: ASCII }, (_, code) => foldedCode(code))

/** Stands before the first letter of a word. */
const BORDER = '\u0002'

/** Syllables of Korean, which are read as the letters that they are made of. */
const isSyllable = (code: number) => code >= 0xac00 && code <= 0xd7a3

const foldedText = (text: string) =>
  text
    .normalize('NFC')
    .split('')
    .flatMap((one) => (isSyllable(one.charCodeAt(0)) ? one.normalize('NFD').split('') : one))
    .map((one) => String.fromCharCode(foldedCode(one.charCodeAt(0))))
    .join('')
    .replaceAll('\0', '')

function make(): Pick<Values, 'step' | 'length'> {
  const words = WORDS.join(' ')
    .split(' ')
    .flatMap((word) => {
      const parts = foldedText(word.replaceAll('-', '\n')).replaceAll("'", `'${BORDER}`).split(' ')
      const forms = [` ${BORDER}`, BORDER, ''].map((gap) => BORDER + parts.join(gap))
      // A long word is one within others too, and Hebrew and Arabic write articles before a word.
      const isWithin = word !== 'password' && (word.length > 6 || /[\u0590-\u06ff]/.test(word))
      return isWithin ? [...forms, ...forms.map((form) => form.slice(1))] : forms
    })
  const { step, length } = valuesOf(new Set([...words, ...JOINED.split(' ').map(foldedText)]))
  // What ASCII leads to stands in a row for each state that a text has come to.
  const rows: Int32Array[] = []
  return {
    step(state: number, code: number) {
      if (code >= ASCII) return step(state, code)
      const next = () => Int32Array.from({ length: ASCII }, (_, code) => step(state, code))
      return (rows[state] ??= next())[code] as number
    },
    length,
  }
}
let made: ReturnType<typeof make> | undefined

/** A state of the automaton, and what the last character was. */
interface Read {
  state: number
  kind: number
}

/** Finds the ends of words, a character at a time; characters may be escaped as in JSON. */
export class Names {
  readonly #words = (made ??= make())
  #state = 0
  #kind = OTHER
  /** Where an escape begins that may be the next letter: what was before it. */
  #escape: Read = { state: 0, kind: OTHER }
  /** Where the next character is, in the whole text, and whether a word ends with the last one. */
  #next = 0
  #ends = false

  /** To go back to. */
  get place() {
    const [state, kind, escape] = [this.#state, this.#kind, this.#escape]
    return { state, kind, escape, next: this.#next, ends: this.#ends }
  }
  set place({ state, kind, escape, next, ends }) {
    ;[this.#state, this.#kind, this.#escape] = [state, kind, escape]
    ;[this.#next, this.#ends] = [next, ends]
  }

  /**
   * Whether a word ends with the character at a position.
   *
   * @param base where `text` begins in the whole text: each character is taken once
   */
  step(text: string, at: number, code: number, base: number): boolean {
    if (base + at < this.#next) return this.#ends
    this.#next = base + at + 1
    // What it begins may be a letter: `\u00f1`.
    if (code === 92 && text.charCodeAt(at - 1) !== 92) {
      this.#escape = { state: this.#state, kind: this.#kind }
    }
    if (isHex(code) && text.charCodeAt(at - 4) === 117) {
      const escape = ESCAPE.exec(text.slice(at - 5, at + 1))
      if (escape) {
        ;({ state: this.#state, kind: this.#kind } = this.#escape)
        return (this.#ends = this.#take(parseInt(escape[1] as string, 16)))
      }
    }
    return (this.#ends = this.#take(code))
  }

  #take(code: number): boolean {
    if (isSyllable(code)) {
      let ends = false
      for (const letter of String.fromCharCode(code).normalize('NFD')) {
        ends = this.#take(letter.charCodeAt(0))
      }
      return ends
    }
    const { step, length } = this.#words
    const foldedChar = code < ASCII ? (FOLDED[code] as number) : foldedCode(code)
    // A mark belongs to the character before it.
    if (foldedChar !== 0) {
      const kind = code < ASCII ? (KINDS[code] as number) : kindOf(code)
      if (kind !== OTHER && (this.#kind === OTHER || (this.#kind === SMALL && kind === CAPITAL))) {
        this.#state = step(this.#state, BORDER.charCodeAt(0))
      }
      this.#state = step(this.#state, foldedChar)
      this.#kind = kind
    }
    return (length[this.#state] as number) > 0
  }
}
const isHex = (code: number) =>
  (code >= 48 && code <= 57) || (code >= 97 && code <= 102) || (code >= 65 && code <= 70)
const ESCAPE = /^\\u([\da-f]{4})$/i

/** Quotes that open a value, with those that close it. */
const CLOSING: Record<string, string> = { '“': '”', '«': '»', '「': '」', '『': '』', '‘': '’' }
/** A list of words, and the same with their marks apart. */
const composedOrNot = (list: string) => `${list}|${list.normalize('NFD')}`
/** Words for "is". */
const IS = composedOrNot(
  'is|ist|lautet|war|est|es|era|é|è|sunt|este|jest|to|je|är|er|on|ir|yra|adalah|ialah|là|είναι|это|есть|—|–|-|=|є|هي|هو|היא|הוא|है|ہے|હતો|হল',
)
/** Particles of Korean. */
const PARTICLES = composedOrNot('는|은|이|가')
const SPACE = '[ \\t\\u00a0\\u202f\\u3000]'
/** What stands between a word and its value: the end of the word, quotes, an operator or "is". */
const BETWEEN = new RegExp(
  `^(\\p{M}*(?:\\p{L}\\p{M}*){0,3}?[_-]?\\d{0,2})(?:["'\`*\\]\\\\”»」）)]{0,18})` +
    `(?:${SPACE}{0,3}(?:=>|:=|->|→|[:=：])${SPACE}{0,3}|${SPACE}{1,3}(?:${IS})${SPACE}{1,3}|${SPACE}{1,3}(?=["'“«「『‘][\\p{L}\\p{N}!#$%&@])|` +
    `(?:は|が|${PARTICLES}|是|为|為)[:： ]?${SPACE}?)(?:[*\\\\"'\`“«「『‘]{0,18})`,
  'u',
)
/** Scripts without spaces need nothing between. */
const NOTHING = new RegExp(`^${SPACE}?["'“「『]?(?=[\\w!#$%&@])`, 'u')
const DENSE = /[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3000-\u9fff\uac00-\ud7af]/
const MOST = 64
const BEGUN = /^[\p{L}\p{M}\d\s"'`*\]\\”»」）)“«「『‘:=：>→—–_-]*$/u

/** Reads from the end of a word to its value. */
export function foreignAt(view: View, at: number): Context | typeof NO | typeof WAIT {
  const { text } = view
  const read = text.slice(at, at + MOST)
  view.steps += 8
  if (unknown(view, at + MOST) && BEGUN.test(read)) return WAIT
  const isDense = DENSE.test(text.charAt(at - 1))
  const found = BETWEEN.exec(read) ?? (isDense ? NOTHING.exec(read) : null)
  if (!found) return NO
  const [between, ending = ''] = found
  const opened = /[*\\"'`]*$/.exec(between)![0]
  const closed = between.length - opened.length + outerEnd(opened)
  const from = at + closed
  if (unknown(view, from + 1)) return WAIT
  // A short word has no other endings.
  if (/^\p{L}/u.test(ending) && !/[\p{L}\p{M}\d]{5}$/u.test(back(text, at, 5))) return NO
  // The English word alone, and not with an operator: `context.ts` knows more of it.
  if (/password$/i.test(back(text, at, 8)) && (ending !== '' || /[:=>]/.test(between))) return NO
  const opening = /["'`“«「『‘]$/.exec(between.slice(0, closed))?.[0] ?? ''
  return { at, from, near: true, quote: CLOSING[opening] ?? opening }
}

const isWord = new RegExp(
  `(?:${[...WORDS, JOINED]
    .join(' ')
    .split(' ')
    .filter((word) => word !== 'password')
    .map((word) => foldedText(word.replaceAll('-', '')).replaceAll(' ', ''))
    .join('|')})s?$`,
  'u',
)
/** Whether the name of a member ends with such a word. */
export const isForeignName = (name: string): boolean =>
  isWord.test(foldedText(name).replace(/[\s\d]/g, ''))
