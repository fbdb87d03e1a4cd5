// Numbers of four parts: addresses are masked, versions, sections and identifiers are shown.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createRedactor } from 'turnlock/redact'

const NO_ADDRESSES = [
  // Versions
  'version 1.2.3.4',
  'Version 10.0.0.1',
  'VERSION=1.2.3.4',
  'version: 1.2.3.4',
  'version is 1.2.3.4',
  'version number 1.2.3.4',
  'version no. 1.2.3.4',
  'v1.2.3.4',
  'v 1.2.3.4',
  'V 12.0.4.31',
  'v203.0.113.7',
  '{"v":"203.0.113.7"}',
  'v. 1.2.3.4',
  'ver 1.2.3.4',
  'Ver. 1.2.3.4',
  'tool --version 1.2.3.4',
  'fileVersion: 1.2.3.4',
  'FILE_VERSION=10.1.2.3',
  'app_version = "1.2.3.4"',
  '{"version":"1.2.3.4"}',
  '{"version": "10.0.0.1"}',
  '{"v":"1.2.3.4"}',
  '{"productVersion":"1.2.3.4","n":1}',
  '{"body":"{\\"version\\":\\"1.2.3.4\\"}"}',
  '<version>1.2.3.4</version>',
  '<Version>1.2.3.4</Version>',
  '[assembly: AssemblyVersion("1.2.3.4")]',
  'versions 1.2.3.4, 1.2.3.5 and 1.2.4.0',
  'versions 1.2.3.4 to 1.2.3.9',
  'version 1.2.3.4 - 1.2.3.9',
  'upgrade from 1.2.3.4 to 1.2.3.5',
  'updated to 1.2.3.4',
  'bumped to v1.2.3.4',
  'release 1.2.3.4',
  'Release: 1.2.3.4',
  'revision 1.2.3.4',
  'build 1.2.3.4',
  'Build number: 1.2.3.4',
  '{"build":"5.6.7.8"}',
  'firmware 1.2.3.4',
  'firmware version 2.1.0.7',
  'driver 31.0.15.1',
  'kernel 5.4.0.1',
  'the 1.2.3.4 release',
  'in the 1.2.3.4 version of it',
  '1.2.3.4-beta',
  '1.2.3.4-rc1 is out',
  '10.0.0.1-SNAPSHOT',
  '1.2.3.4+build',
  '1.2.3.4rc2',
  'Chrome/120.0.0.0',
  'Mozilla/5.0 (X11) Chrome/99.1.2.3 Safari/15.6.1.2',
  'curl/7.88.1.2',
  'OPR/106.0.0.0',
  'Some-Agent/12.0.0.0',
  'Chrome 120.1.2.3',
  'Java 1.8.0.1',
  'OpenSSL 1.1.1.1',
  'Oracle Database 12.2.0.1',
  'library==1.2.3.4',
  'library >= 1.2.3.4',
  'library<1.2.3.4',
  'library > 1.2.3.4',
  'gem "library", "~> 1.2.3.4"',
  '{"library":"^1.2.3.4"}',
  '{"library":"~1.2.3.4"}',
  "implementation 'com.example:library:1.2.3.4'",
  'FROM example/nginx:1.25.3.1',
  'https://host.example/releases/tag/1.2.3.4',
  'library-1.2.3.4.tar.gz and 1.2.3.4.dll',
  // Sections and identifiers
  'Section 1.2.3.4',
  'section 3.2.1.1',
  'SECTION 3.2.1.1',
  'Sec. 3.2.1.1',
  'sections 1.2.3.4 and 1.2.3.5',
  'subsection 4.3.2.1',
  '§1.2.3.4',
  '§ 3.2.1.1',
  '§§ 3.2.1.1 and 3.2.1.2',
  'chapter 1.2.3.4',
  'Chapter: 1.2.3.4',
  'clause 7.1.2.3',
  'paragraph 2.3.4.5',
  'Annex 1.2.3.4',
  '## 3.2.1.1 Overview',
  // garrytan/gstack#2784, #2856 (2026-09-12): headings of changelogs.
  '## [1.128.1.0] - 2026-09-02',
  '## v1.10.0.0',
  '<h2>3.2.1.1 Overview</h2>',
  'OID 1.3.6.1',
  'OID: 1.3.6.1',
  'urn:oid:1.3.6.1',
  '1.3.6.1.4.1.311.21.20',
  // Parts of documents
  ...[
    'Figure 1.2.3.4',
    'figure 10.0.0.1',
    'FIGURE 1.2.3.4',
    'Fig. 1.2.3.4',
    'Figures 1.2.3.4 and 1.2.3.5',
  ],
  ...[
    'Table 3.1.1.2',
    'table 3.1.1.2',
    'Tables 3.1.1.2 to 3.1.1.4',
    'Tab. 3.1.1.2',
    'Table: 3.1.1.2',
  ],
  ...[
    'Equation 1.2.3.4',
    'Eq. (1.2.3.4)',
    'Listing 1.2.3.4',
    'Theorem 1.2.3.4',
    'Algorithm 1.2.3.4',
  ],
  ...['Example 1.2.3.4', 'Exercise 1.2.3.4', 'Step 1.2.3.4', 'in step 1.2.3.4', 'Item 1.2.3.4'],
  // PCI DSS v4.0 numbers its requirements so.
  ...[
    'Requirement 8.3.6.1',
    'Req. 8.3.6.1',
    'Control 1.2.3.4',
    'Rule 1.2.3.4',
    'sub-section 1.2.3.4',
  ],
  // Names with a number joined to them
  // aquasecurity/trivy and npm print `name@version`, glibc and kernels `name-version`; purl-spec.
  ...['package@1.2.3.4', 'left-pad@1.2.3.4', '"name@1.2.3.4"', 'name@1.2.3.4: deprecated'],
  ...[
    '@scope/name@1.2.3.4',
    'npm i lodash@4.17.21.1',
    'pkg:npm/name@1.2.3.4',
    'host.example/x@v1.2.3.4',
  ],
  ...[
    'glibc-2.35.0.1',
    'glibc-2.35.0.1.so',
    'openssl-1.1.1.2',
    'linux-image-5.4.0.1',
    'typescript-5.2.2.1',
  ],
  ...[
    'release-1.2.3.4',
    'build-1.2.3.4',
    'version-1.2.3.4',
    'library-v1.2.3.4',
    'library_1.2.3.4_amd64.deb',
  ],
  ...[
    'api/v1.2.3.4/x',
    'library/v1.2.3.4',
    'apt install library=1.2.3.4',
    'library 1.2.3.4-1ubuntu2',
  ],
  ...['git-2.43.0.1', 'postgres-15.2.0.1', 'mysql_8.0.33.1'],
  // Marks and tables around a number
  ...['Version: **1.2.3.4**', '**Version:** 1.2.3.4', 'version `1.2.3.4`', '| Version | 1.2.3.4 |'],
  ...[
    'Version\t1.2.3.4',
    'Build: #1.2.3.4',
    '"version": ["1.2.3.4"]',
    '"versions":["1.2.3.4","1.2.3.5"]',
  ],
  ...[
    'versionName "1.2.3.4"',
    'VERSION_STRING "1.2.3.4"',
    'release notes 1.2.3.4',
    'Release Notes for 1.2.3.4',
  ],
  ...[
    'release candidate 1.2.3.4',
    '@since 1.2.3.4',
    'patch 1.2.3.4',
    'tag 1.2.3.4',
    'Version 1.2.3.4: fixes',
  ],
  ...[
    '<td>Version</td><td>1.2.3.4</td>',
    '<b>Version:</b> 1.2.3.4',
    '<dt>Build</dt> <dd>1.2.3.4</dd>',
  ],
  // Other languages
  ...['Abbildung 1.2.3.4', 'Abb. 1.2.3.4', 'Tabelle 1.2.3.4', 'tableau 1.2.3.4', 'figura 1.2.3.4'],
  ...[
    'рисунок 1.2.3.4',
    'Рис. 1.2.3.4',
    'таблица 1.2.3.4',
    '図1.2.3.4',
    '表 1.2.3.4',
    '그림 1.2.3.4',
  ],
  'Abschnitt 1.2.3.4',
  'Kapitel 3.2.1.1',
  'chapitre 1.2.3.4',
  'sección 1.2.3.4',
  'versión 1.2.3.4',
  'versão: 1.2.3.4',
  'versione 1.2.3.4',
  'версия 1.2.3.4',
  'раздел 1.2.3.4',
  'wersja 1.2.3.4',
  'sürüm 1.2.3.4',
  '版本 1.2.3.4',
  '版本：1.2.3.4',
  '第1.2.3.4節',
  'バージョン 1.2.3.4',
  '버전 1.2.3.4',
]
/** `‡` stands for what is masked. */
const ADDRESSES = [
  'from 1.2.3.4',
  '192.168.0.1',
  '10.0.0.1',
  'ip 1.2.3.4',
  'IPv4: 1.2.3.4',
  'ipv4 1.2.3.4',
  '{"ip":"1.2.3.4"}',
  '{"ip":"192.168.0.12","version":"1.2.3.4"}',
  '{"version":4,"address":"1.2.3.4"}',
  'version 4, address 1.2.3.4',
  'version 1.2.3.4, 10.0.0.1',
  'version 1.2.3.4 on 8.8.8.8',
  'the version of 10.0.0.1 is old',
  'ping -v 10.0.0.1',
  'server v 203.0.113.7',
  'Server V. 203.0.113.7',
  'v 10.0.0.1 is up',
  'nmap -v 8.8.8.8',
  'curl -v http://1.2.3.4/',
  'ssh root@1.2.3.4',
  'conversion: 1.2.3.4',
  'inversion 1.2.3.4',
  'https://1.2.3.4/releases/',
  'http://user:x@1.2.3.4:8080/v1/',
  'hosts/1.2.3.4/status',
  'myhost/10.0.0.1:9092',
  'Server/10.0.0.7',
  'Desktop-7/192.168.1.5',
  'inet 192.168.1.5/24',
  'inet addr:192.168.1.5',
  'ip.addr==8.8.8.8',
  'ip.src == 8.8.8.8',
  "WHERE client_ip >= '8.8.8.8'",
  'if (host === "8.8.8.8")',
  'build server 10.0.0.1',
  'build 10.0.0.1:8080',
  'release 10.0.0.1',
  'DHCPRELEASE of 10.0.0.9',
  'migrated from 8.8.8.8 to 8.8.4.4',
  'updated 8.8.8.8',
  'mysql 8.8.8.8',
  'nginx 8.8.8.8:80',
  'DNS 8.8.8.8 and 1.1.1.1',
  'nameserver 8.8.8.8',
  '127.0.0.1 localhost',
  '192.168.1.1 - - [29/Nov/2026]',
  'route 10.0.0.0/8',
  'section on 8.8.8.8',
  'tv: 1.2.3.4',
  'conectar para 10.0.0.1',
  'range 10.0.0.1-10.0.0.9',
  '10.0.0.1-based',
  '8.8.8.8 version mismatch',
  'x-forwarded-for: 1.2.3.4, 5.6.7.8',
  'Via: 1.1 1.2.3.4',
  '第三者 1.2.3.4',
  'host ≥ 1.2.3.4',
  // Hosts and users with an address joined to them
  ...[
    'user@93.184.216.34',
    'alice@8.8.8.8',
    'root@1.2.3.4',
    'ec2-user@5.9.7.12',
    'ssh ops7@5.9.7.12',
  ],
  ...['scp f deploy@5.9.7.12:/x', 'jo7@5.9.7.12:file', 'jo7@5.9.7.12:22', '[jo7@5.9.7.12 ~]$'],
  ...["jo7@5.9.7.12's password:", 'Permission denied for jo7@5.9.7.12', 'sip:jo7@5.9.7.12'],
  ...['ip-5.9.7.12', 'my-host-5.9.7.12', 'from-5.9.7.12', 'node-10.0.0.5', 'x-5.9.7.12'],
  ...['vpn-93.184.216.34', 'backup-93.184.216.34', 'package@93.184.216.34', 'package@10.0.0.1'],
  ...['jo7:x@5.9.7.12', 'sshd-5.9.7.12', 'http://jo7@5.9.7.12/'],
  // Tags, arrows and comparisons: these were shown
  ...['<td>5.9.7.12</td>', '<p>93.184.216.34</p>', '<b class="x">5.9.7.12</b>', 'x -> 5.9.7.12'],
  ...[
    'x => 5.9.7.12',
    '> 5.9.7.12',
    '80 > 5.9.7.12: ICMP',
    'x == "93.184.216.34"',
    'a<93.184.216.34>',
  ],
  ...['since 5.9.7.12 was seen', 'jo <5.9.7.12>'],
  // Words that stand before addresses too
  ...[
    'routing table 5.9.7.12',
    'ip table 5.9.7.12',
    'table 10.0.0.0/8',
    'step 10.0.0.1',
    'rule 10.0.0.1',
  ],
  ...[
    'for example 5.9.7.12',
    'part of 5.9.7.12',
    'since 93.184.216.34 is down',
    'step: ping 5.9.7.12',
  ],
  ...['Table 93.184.216.34', 'item 5.9.7.12', 'patch 5.9.7.12:8080', 'a figure of 5.9.7.12'],
  // A name of a service or a path behind the colon: the address was shown
  ...['5.9.7.12:http', '8.8.8.8:domain', '93.184.216.34: unreachable', '10.0.0.1:'],
]
const masked = {
  'jo7:x@5.9.7.12': 'jo7:x@‡',
  '{"ip":"192.168.0.12","version":"1.2.3.4"}': '{"ip":"‡","version":"1.2.3.4"}',
  'version 1.2.3.4, 10.0.0.1': 'version 1.2.3.4, ‡',
  'version 1.2.3.4 on 8.8.8.8': 'version 1.2.3.4 on ‡',
  'http://user:x@1.2.3.4:8080/v1/': 'http://user:‡@‡:8080/v1/',
}

const redactor = createRedactor({ mask: () => '‡' })
const streamed = (text, cuts) => {
  let shown = ''
  let from = 0
  for (const cut of [...cuts, text.length]) {
    shown += redactor.feed(text.slice(from, cut))
    from = cut
  }
  return shown + redactor.end()
}
const rows = [
  ...NO_ADDRESSES.map((text) => [text, text]),
  ...ADDRESSES.map((text) => [
    text,
    masked[text] ?? text.replace(/(?<![\d.])\d+(?:\.\d+){3}(?:\/\d+)?/g, '‡'),
  ]),
]

for (const [text, expected] of rows) {
  const kind = text === expected ? 'shown' : 'masked'
  test(`number of four parts: ${kind} in ${text}`, () => {
    for (const [before, after] of [
      ['', ''],
      ['', ' of it.'],
      ['See it: ', ', now'],
      ['\n', '\n'],
    ]) {
      // A heading begins a line.
      if (text.startsWith('#') && before.endsWith(' ')) continue
      const whole = before + text + after
      assert.equal(redactor.redact(whole), before + expected + after, whole)
      for (let cut = 0; cut <= whole.length; cut++) {
        assert.equal(streamed(whole, [cut]), before + expected + after, `${whole} cut at ${cut}`)
      }
      const all = [...whole].map((_, at) => at)
      assert.equal(streamed(whole, all), before + expected + after, whole)
    }
  })
}
