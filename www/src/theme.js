// Light, dark, or as the system has it: a choice that the browser keeps.
import { byId } from './dom.js'

const NEXT = { system: 'light', light: 'dark', dark: 'system' }

export function setUpTheme() {
  const show = (theme) => {
    if (theme === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
    byId('theme').textContent = `Theme: ${theme}`
  }
  let theme = 'system'
  try {
    theme = localStorage.getItem('theme') ?? theme
  } catch {
    // No storage: the choice lasts as long as the page.
  }
  if (!(theme in NEXT)) theme = 'system'
  show(theme)
  byId('theme').addEventListener('click', () => {
    theme = NEXT[theme]
    show(theme)
    try {
      localStorage.setItem('theme', theme)
    } catch {
      // As above.
    }
  })
}
