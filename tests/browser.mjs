// Debian's Chromium, driven by playwright-core.
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'

export const FLAGS = [
  ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  '--no-first-run',
]

export function launch() {
  const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  const executablePath = places.find((place) => existsSync(place))
  return chromium.launch({ ...(executablePath && { executablePath }), args: FLAGS })
}
