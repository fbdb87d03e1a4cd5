// Debian's Firefox, without a protocol: it opens a page, which says what it found by a request.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PREFERENCES = {
  'browser.shell.checkDefaultBrowser': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'app.update.enabled': false,
}

/** Opens a page, in a new profile with these preferences too; returns a function that closes the browser. */
export function firefox(url, preferences = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'turnlock-firefox-'))
  const lines = Object.entries({ ...PREFERENCES, ...preferences }).map(
    ([name, value]) => `user_pref("${name}", ${value});`,
  )
  writeFileSync(join(profile, 'user.js'), lines.join('\n'))
  const args = ['--headless', '--no-remote', '--profile', profile, url]
  const child = spawn('firefox-esr', args, { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  return async () => {
    child.kill()
    await ended
    rmSync(profile, { recursive: true, force: true })
  }
}
