/** Tells versions, sections and identifiers of four numbers from IPv4 addresses, by what is around them. */
import { back, unknown, WAIT, type View } from './view.js'

/** Characters before a number that are read, and after it. */
const [BEFORE, AFTER] = [80, 14]

/** Quotes, at any level of JSON. */
const QUOTES = '(?:\\\\{0,7}["\'`]){0,2}'
/** What stands between a word and its number: `version: "`, `Version("`, `version is `, `ver. `. */
const GAP =
  '(?:[ _-]?(?:number|no\\.?|nr\\.?|string))?' +
  `${QUOTES}(?:\\.? ?|[ \\t]{0,3}(?:=>|:=|[:=#>(：])[ \\t]{0,3}| (?:is|was|ist|est|es|är|er) )${QUOTES}[vV^~=]?`
/** Numbers of a range or a list before this one. */
const NUMBER = `v?\\d+(?:\\.\\d+)+${QUOTES}`
const RANGE = `${NUMBER}(?: (?:to|through|until|and|or|bis|und|à|et|y|e|a) | ?[-–] ?)${QUOTES}v?`
const LIST = `(?:${NUMBER}(?:,? (?:and|or|und|et|y|e) |[,;] ?)${QUOTES}v?){1,6}`

const capital = (list: string) =>
  list.replace(/(^|\|)(\p{Ll})/gu, (_, bar: string, one: string) => bar + one.toUpperCase())
/** Words in small or capital letters, or as a part of a name: `fileVersion`, `FILE_VERSION`. */
const named = (list: string, before = '') =>
  `(?:(?:^|[^\\p{L}\\p{N}${before}])(?:${list}|${list.toUpperCase()}|${capital(list)})|\\p{Ll}(?:${capital(list)}))`
const ends = (pattern: string) => new RegExp(`${pattern}$`, 'u')

const SECTIONS =
  'section|sect?|subsection|chapter|chap|clause|paragraph|appendix|annex|article|heading|abschnitt|kapitel|absatz|ziffer|' +
  'chapitre|sección|seccion|capítulo|capitulo|seção|secao|sezione|capitolo|hoofdstuk|rozdział|раздел|глава|пункт|bölüm|' +
  'avsnitt|kapittel|luku|kapitola|chương|розділ|ενότητα|κεφάλαιο|סעיף|פרק|القسم|الفصل|अध्याय'
const VERSIONS =
  'version|vers|ver|semver|versión|versao|versão|versione|versie|wersja|версия|версія|sürüm|verze|versi|phiên bản|έκδοση|' +
  'גרסה|الإصدار|إصدار|संस्करण|버전'
const PLURALS = 'versions|sections|chapters|clauses|releases|builds|versionen|abschnitte|versiones'

/** Names of versions and of parts of documents: what follows is no address. */
const STRONG = [
  ends(named(`${VERSIONS}|${SECTIONS}|oid|object identifier`) + GAP),
  // `-v` asks for more words: `ping -v 10.0.0.1`.
  ends(named('v', '-') + GAP),
  ends(named(PLURALS) + GAP),
  /(?:§{1,2}|版本|版|章|節|节|バージョン|第) ?(?:[:：] ?)?$/,
  // The number of a heading, and an identifier of an object.
  /(?:(?:^|[\n\r])#{1,6} \[?v?|<h[1-6][^<>]{0,40}>|urn:oid:)$/i,
  // Products that clients and servers name, and folders of releases.
  /(?:^|[\s("';,])(?:chrom(?:e|ium)|headlesschrome|firefox|safari|version|edga?|opr|opera|vivaldi|brave|electron|applewebkit|gecko|mozilla|curl|wget|python|python-requests|okhttp|axios|git|npm|yarn|pnpm|java|go-http-client|ruby|php|openssl|nginx|apache|microsoft-iis|cfnetwork|darwin|postmanruntime)\/v?$/i,
  /\b(?:releases?|tags?|versions?)\/(?:tag\/|download\/)?v?$/i,
]

/** Words that also stand before addresses: before those of private networks they decide nothing. */
const WEAK = [
  ends(
    named(
      'release|revision|rev|build|firmware|fw|driver|kernel|hotfix|assembly|changelog|chrome|chromium|firefox|safari|electron|' +
        'android|ios|macos|java|jdk|jre|python|openssl|openSSL|gcc|clang|cuda|unity|acrobat|oracle(?: [dD]atabase)?|windows|\\.net',
    ) + GAP,
  ),
  ends(
    named(`upgrade|upgraded|downgrade|downgraded|update|updated|bump|bumped|${VERSIONS}`) +
      ` (?:to|from) v?(?:${RANGE})?`,
  ),
  ends(named(`${VERSIONS}|${SECTIONS}`) + GAP + RANGE),
  ends(named(PLURALS) + GAP + `(?:${LIST}|${RANGE})`),
  /§{1,2} ?(?:\d+(?:\.\d+)+(?:, ?| (?:and|or|und|to|bis) |[-–])){1,6}$/,
  // `com.example:library:1.2.3.4`, `FROM library/name:1.2.3.4`.
  /(?:^|[\s"'`(])[a-z][\w-]*(?:\.[\w-]+)+:[\w.-]+:$/,
  /(?:FROM|image:|docker (?:pull|run)) ["']?[\w./-]+:$/,
]
/** `library==1.2.3.4`, `library >= 1.2.3.4`, `"library": "^1.2.3.4"`; but no `ip.addr == 10.0.0.1`. */
const COMPARED =
  /([\w.\]-]{0,40})["']?(?: ?(?:===?|[<>~!]=|~>) ?["']?|[:=]? ?["']?(?:[~^]|[<>]=?) ?)$/
const OF_ADDRESS = /ip|addr|host|src|dst|server|remote|client|gateway|peer|node|dns|net/i

/** What follows the number of a version. */
const SUFFIX =
  /^[-+_.]?(?:alpha|beta|rc|pre|preview|snapshot|dev|release|final|hotfix|nightly|ga|sp|build|canary|stable|lts|x86|x64|amd64|arm64|linux|windows|darwin|macos)[\d.]*(?![a-z])/i
const LATER = /^ (?:release|version|firmware|hotfix|update)(?![a-z])/i
const BEFORE_LATER = /\b(?:the|an?|our|this|latest|new|in|with) $/i
const BEGUN = /^(?:[-+_]?[a-z]{0,9}\d*|[-+_]|[-+_]x\d*| [a-z]{0,9})$/i

const PRIVATE =
  /^(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./

/** Whether four numbers from `at` to `to` are no address. */
export function isVersion(view: View, at: number, to: number): boolean | typeof WAIT {
  const { text } = view
  const before = back(text, at, BEFORE)
  view.steps += 8
  if (STRONG.some((pattern) => pattern.test(before))) return true
  const after = text.slice(to, to + AFTER)
  if (after.length < AFTER && unknown(view, to + after.length) && BEGUN.test(after)) return WAIT
  if (SUFFIX.test(after)) return true
  // A port or a network follows an address.
  if (/^(?::\d|\/\d)/.test(after)) return false
  const number = text.slice(at, to)
  // Browsers end their versions so.
  if (/\w\/$/.test(before) && /^\d+(?:\.0){3}$/.test(number)) return true
  if (PRIVATE.test(number)) return false
  const [, compared] = COMPARED.exec(before) ?? []
  if (compared !== undefined && !OF_ADDRESS.test(compared)) return true
  return (
    WEAK.some((pattern) => pattern.test(before)) || (LATER.test(after) && BEFORE_LATER.test(before))
  )
}
