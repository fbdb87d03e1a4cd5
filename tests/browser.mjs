// Debian's Chromium, driven by playwright-core.
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { PATIENCE_MS } from './patience.mjs'

export const FLAGS = [
  ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  '--no-first-run',
]

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
export const executablePath = places.find((place) => existsSync(place))

export function launch() {
  const own = { ...(executablePath && { executablePath }), args: FLAGS }
  return chromium.launch({ ...own, timeout: PATIENCE_MS })
}
