// Passwords behind words of other languages than English.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createRedactor } from 'turnlock/redact'

const PASSWORD = 'hunter2Sommer!x'
/** By language: names of fields, and sentences with `…` in place of a password. */
const LANGUAGES = {
  German: [
    ['Passwort', 'Kennwort', 'db_passwort', 'neuesPasswort'],
    'Das Passwort lautet … und gilt',
    'Kennwort ist …',
  ],
  French: [
    ['mot de passe', 'mot_de_passe', 'motDePasse', 'mdp'],
    'Le mot de passe est … ici',
    'Mot de passe : …',
    'mot de passe\u00a0: …',
  ],
  Spanish: [
    ['contraseña', 'contrasena', 'nuevaContraseña', 'clave'],
    'La contraseña es … hoy',
    'Contraseña: …',
  ],
  Portuguese: [['senha', 'novaSenha', 'palavra-passe'], 'A senha é … agora', 'Senha: …'],
  Italian: [
    ["parola d'ordine", 'password', 'parola chiave'],
    'La password è … qui',
    'Parola d’ordine: …',
  ],
  Dutch: [['wachtwoord', 'nieuwWachtwoord'], 'Het wachtwoord is … nu'],
  Polish: [['hasło', 'haslo', 'noweHasło'], 'Hasło to … teraz', 'hasło: …'],
  Russian: [
    ['пароль', 'новый_пароль', 'Пароль'],
    'Пароль — … сейчас',
    'ваш пароль: …',
    'пароль это …',
  ],
  Ukrainian: [['пароль', 'ваш_пароль'], 'Пароль: …'],
  Bulgarian: [['парола'], 'Парола: …'],
  Turkish: [['şifre', 'sifre', 'parola', 'yeniŞifre'], 'Şifreniz: …', 'Şifre: … olarak'],
  Japanese: [
    ['パスワード', '新しいパスワード', '暗証番号'],
    'パスワードは…です',
    'パスワード：…',
    'パスワードは「…」です',
  ],
  Chinese: [['密码', '密碼', '数据库密码', '口令'], '密码是…。', '密码：…', '密碼為 …', '密码… '],
  Korean: [['비밀번호', '암호', '패스워드'], '비밀번호는 … 입니다', '비밀번호: …'],
  Arabic: [['كلمة المرور', 'كلمة_السر'], 'كلمة المرور هي …', 'كلمة المرور: …'],
  Persian: [['رمز عبور', 'گذرواژه'], 'رمز عبور: …'],
  Hindi: [['पासवर्ड', 'कूटशब्द'], 'पासवर्ड: … है'],
  Swedish: [['lösenord', 'losenord'], 'Lösenordet är … nu', 'Lösenord: …'],
  Danish: [['adgangskode', 'kodeord'], 'Adgangskoden er … nu'],
  Norwegian: [['passord'], 'Passordet er … nu'],
  Icelandic: [['lykilorð'], 'Lykilorð: …'],
  Finnish: [['salasana'], 'Salasana on … nyt', 'Salasanasi: …'],
  Estonian: [['salasõna', 'parool'], 'Parool on … nüüd'],
  Czech: [['heslo', 'nove_heslo'], 'Heslo je … dnes', 'heslo: …'],
  Slovak: [['heslo'], 'Heslo: …'],
  Slovenian: [['geslo'], 'Geslo je … danes'],
  Croatian: [['lozinka'], 'Lozinka je … danas'],
  Serbian: [['лозинка'], 'Лозинка: …'],
  Hungarian: [['jelszó', 'jelszo'], 'Jelszó: …'],
  Romanian: [['parolă', 'parola'], 'Parola este … azi'],
  Lithuanian: [['slaptažodis'], 'Slaptažodis yra … dabar'],
  Indonesian: [
    ['kata sandi', 'kata_sandi', 'kataSandi'],
    'Kata sandi adalah … sekarang',
    'Kata sandi: …',
  ],
  Malay: [['kata laluan'], 'Kata laluan ialah … kini'],
  Vietnamese: [['mật khẩu', 'mat khau', 'mat_khau'], 'Mật khẩu là … nhé', 'mật khẩu: …'],
  Thai: [['รหัสผ่าน'], 'รหัสผ่าน: …'],
  Greek: [['κωδικός', 'κωδικός πρόσβασης', 'ΚΩΔΙΚΟΣ'], 'Ο κωδικός είναι … σήμερα', 'Κωδικός: …'],
  Hebrew: [['סיסמה', 'סיסמא'], 'הסיסמה היא …', 'סיסמה: …'],
  Armenian: [['գաղտնաբառ'], 'Գաղտնաբառ: …'],
  Georgian: [['პაროლი'], 'პაროლი: …'],
  Bengali: [['পাসওয়ার্ড'], 'পাসওয়ার্ড: …'],
  Tamil: [['கடவுச்சொல்'], 'கடவுச்சொல்: …'],
  Kazakh: [['құпия сөз'], 'Құпия сөз: …'],
  Swahili: [['nenosiri'], 'Nenosiri: …'],
  Catalan: [['contrasenya'], 'La contrasenya és aquesta: contrasenya: …'],
  Basque: [['pasahitza'], 'Pasahitza: …'],
  Albanian: [['fjalëkalimi'], 'Fjalëkalimi: …'],
  Latvian: [['parole', 'jaunā_parole'], 'Parole ir … tagad', 'Parole: …'],
  Azerbaijani: [['şifrə', 'sifre', 'parol'], 'Şifrə: …', 'Şifrəniz: …'],
  Uzbek: [['parol', 'yangi_parol'], 'Parol: …'],
  Kyrgyz: [['сырсөз'], 'Сырсөз: …'],
  Tajik: [['парол', 'гузарвожа'], 'Парол: …'],
  Mongolian: [['нууц үг', 'нууц_үг'], 'Нууц үг: …'],
  Kurdish: [['şîfre', 'وشەی نهێنی'], 'Şîfre: …'],
  Urdu: [['پاس ورڈ', 'پاسورڈ', 'پاس_ورڈ'], 'پاس ورڈ: … ہے'],
  Sindhi: [['پاسورڊ'], 'پاسورڊ: …'],
  Pashto: [['پټنوم'], 'پټنوم: …'],
  'Persian, other words': [['کلمه عبور', 'پسورد'], 'کلمه عبور: …'],
  'Arabic, other words': [['رمز المرور', 'الرقم السري'], 'رمز المرور: …'],
  Marathi: [['संकेतशब्द', 'परवलीचा शब्द'], 'संकेतशब्द: … आहे'],
  Nepali: [['गोप्यशब्द', 'पासवर्ड'], 'पासवर्ड: …'],
  Punjabi: [['ਪਾਸਵਰਡ'], 'ਪਾਸਵਰਡ: … ਹੈ'],
  Gujarati: [['પાસવર્ડ'], 'પાસવર્ડ: … છે'],
  Odia: [['ପାସୱାର୍ଡ'], 'ପାସୱାର୍ଡ: …'],
  Telugu: [['పాస్‌వర్డ్', 'పాస్వర్డ్', 'సంకేతపదం'], 'పాస్‌వర్డ్: …'],
  Kannada: [['ಪಾಸ್‌ವರ್ಡ್', 'ಪಾಸ್ವರ್ಡ್', 'ಗುಪ್ತಪದ'], 'ಪಾಸ್‌ವರ್ಡ್: …'],
  Malayalam: [['പാസ്‌വേഡ്', 'പാസ്‌വേർഡ്', 'രഹസ്യവാക്ക്'], 'പാസ്‌വേഡ്: …'],
  Sinhala: [['මුරපදය', 'මුර පදය'], 'මුරපදය: …'],
  Burmese: [['စကားဝှက်'], 'စကားဝှက်: …'],
  Khmer: [['ពាក្យសម្ងាត់', 'លេខសម្ងាត់'], 'ពាក្យសម្ងាត់: …'],
  Lao: [['ລະຫັດຜ່ານ'], 'ລະຫັດຜ່ານ: …'],
  Javanese: [['tembung sandi'], 'Tembung sandi: …'],
  Sundanese: [['kecap sandi'], 'Kecap sandi: …'],
  Tagalog: [['kontrasenyas'], 'Kontrasenyas: …'],
  Hausa: [['kalmar sirri', 'kalmar_sirri'], 'Kalmar sirri: …'],
  Yoruba: [['ọ̀rọ̀ aṣínà', 'oro asina'], 'Ọ̀rọ̀ aṣínà: …'],
  Igbo: [['okwuntughe', 'paswọọdụ'], 'Okwuntughe: …'],
  Somali: [['ereyga sirta'], 'Ereyga sirta: …'],
  Oromo: [['jecha darbii'], 'Jecha darbii: …'],
  Zulu: [['iphasiwedi'], 'Iphasiwedi: …'],
  Malagasy: [['tenimiafina'], 'Tenimiafina: …'],
  Amharic: [['የይለፍ ቃል'], 'የይለፍ ቃል: …'],
  Irish: [['pasfhocal'], 'Pasfhocal: …'],
  Welsh: [['cyfrinair'], 'Cyfrinair: …'],
}

const redactor = createRedactor()
const streamed = (text, cuts) => {
  let shown = ''
  let from = 0
  for (const cut of [...cuts, text.length]) {
    shown += redactor.feed(text.slice(from, cut))
    from = cut
  }
  return shown + redactor.end()
}
const MASK = '[redacted:secret]'
/** As a writer of JSON that has ASCII only. */
const ascii = (text) =>
  text.replace(/[^\0-~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
const checked = (text, expected) => {
  assert.equal(redactor.redact(text), expected)
  for (let cut = 0; cut <= text.length; cut++) {
    assert.equal(streamed(text, [cut]), expected, `${text} cut at ${cut}`)
  }
  assert.equal(
    streamed(
      text,
      text.split('').map((_, at) => at),
    ),
    expected,
    text,
  )
}

for (const [language, [names, ...sentences]] of Object.entries(LANGUAGES)) {
  test(`password words: ${language}`, () => {
    for (const name of names) {
      // A name in camel case is none in capital letters.
      for (const form of [
        name,
        name.normalize('NFD'),
        /\p{Ll}\p{Lu}/u.test(name) ? name : name.toUpperCase(),
      ]) {
        const json = JSON.stringify({ a: 1, [form]: PASSWORD, b: 2 })
        const hidden = JSON.stringify({ a: 1, [form]: MASK, b: 2 })
        checked(json, hidden)
        checked(ascii(json), ascii(hidden))
        checked(JSON.stringify({ body: ascii(json) }), JSON.stringify({ body: ascii(hidden) }))
        checked(`${form}=${PASSWORD}\n`, `${form}=${MASK}\n`)
        checked(`${form}: "${PASSWORD}"`, `${form}: "${MASK}"`)
        if (name !== 'password') {
          const [hidden] = Object.values(redactor.value({ a: { [form]: PASSWORD } }))
          assert.deepEqual(hidden, { [form]: '[redacted:field]' })
          assert.deepEqual(redactor.value([{ [form]: 1234 }]), [{ [form]: '[redacted:field]' }])
        }
      }
    }
    for (const sentence of sentences) {
      for (const form of [sentence, sentence.normalize('NFD')]) {
        checked(form.replace('…', PASSWORD.replace('!', '')), form.replace('…', MASK))
      }
    }
  })
}

test('password words: values in the letters of the writer, and obfuscated names', () => {
  const rows = {
    // vshulcz/deja-vu#3587 (2026-09-14): the word was known, the value had to be ASCII.
    'пароль: ОченьДлинныйПароль2026 и': `пароль: ${MASK} и`,
    'password: ОченьДлинныйПароль2026': `password: ${MASK}`,
    'password: 非常に長いパスワード2026。': `password: ${MASK}。`,
    '비밀번호: 데이터베이스2026 입니다': `비밀번호: ${MASK} 입니다`,
    'password: 🔥SecretValue2026🔥 x': `password: ${MASK} x`,
    '{"пароль":"ОченьДлинный2026"}': `{"пароль":"${MASK}"}`,
    // stacktale/stacktale#25 (2026-07-10).
    'senha={} invalida, senhora: maria12': 'senha={} invalida, senhora: maria12',
    'senha=S3nhaForte x': `senha=${MASK} x`,
    // thesongzhu/Friday#1619: names with invisible characters, marks, full width.
    '{"pass\u200bword":"hunter2hunter2"}': `{"pass\u200bword":"${MASK}"}`,
    '{"ｐａｓｓｗｏｒｄ":"hunter2hunter2"}': `{"ｐａｓｓｗｏｒｄ":"${MASK}"}`,
    '{"pa\u0301ssword":"hunter2hunter2"}': `{"pa\u0301ssword":"${MASK}"}`,
  }
  for (const [text, expected] of Object.entries(rows)) checked(text, expected)
  for (const name of ['api\u200bKey', 'to\u0301ken secret', 'ｓｅｃｒｅｔ', 'ｐａｓｓｗｏｒｄ']) {
    assert.deepEqual(redactor.value({ [name]: 'opaque' }), { [name]: '[redacted:field]' }, name)
  }
})

test('password words: prose, placeholders and other words are shown', () => {
  for (const text of [
    'Das Passwort ist falsch. Passwort vergessen? Passwort-Länge: 12',
    '{"passwort":"Bitte Passwort eingeben"}',
    'Le mot de passe est obligatoire',
    '{"contraseña":"Introduzca su contraseña"}',
    'contraseña_url: https://host.example/a1',
    'El diseño desenhar: linha12345',
    'Пароль обязателен, пароль: ********',
    '{"пароль":"Введите пароль"}',
    '{"密码":"请输入密码"}',
    '{"パスワード":"パスワードを入力してください"}',
    '密码不正确，请重试',
    'パスワードを忘れた場合',
    '비밀번호를 입력하세요',
    'Parolaccia: parola2parola',
    'In a parole hearing: article12b',
    'heslo: {{heslo}}, senha: ${SENHA}, hasło: <hasło>',
    'mdpi: article2024x',
    'Parole chiave: motori2024, libertà di parole. La parole est à article12b',
    '{"পাসওয়ার্ড":"আপনার পাসওয়ার্ড লিখুন"}',
    '{"ಪಾಸ್‌ವರ್ಡ್":"ನಿಮ್ಮ ಪಾಸ್‌ವರ್ಡ್ ನಮೂದಿಸಿ"}',
    '{"የይለፍ ቃል":"የይለፍ ቃል ያስገቡ"}',
  ]) {
    checked(text, text)
  }
})
