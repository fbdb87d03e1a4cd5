// Which view is shown. The address says it, so a link leads there and Back works.
import { byId } from './dom.js'

const links = [...document.querySelectorAll('#views a')]

/** `opened`: id → what to do when that view is first shown. */
export function setUpViews(opened) {
  const first = { ...opened }
  const show = () => {
    const wanted = links.find(({ hash }) => hash === location.hash) ?? links[0]
    for (const link of links) {
      byId(link.hash.slice(1)).hidden = link !== wanted
      if (link === wanted) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
    }
    const id = wanted.hash.slice(1)
    first[id]?.()
    delete first[id]
  }
  addEventListener('hashchange', show)
  show()
}
