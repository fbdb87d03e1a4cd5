// Which view is shown. The address says it, so a link leads there and Back works.
import { byId } from './dom.js'

const links = [...document.querySelectorAll('#views a')]

/**
 * `follow` hears the id of each view, `share` that of one that is set up; `opened`: id → what to do when it is first shown.
 */
export function setUpViews(follow, share, opened) {
  const done = new Set()
  let current
  const show = () => {
    // What stands behind `?` is the view's own.
    const [id] = location.hash.split('?')
    const wanted = links.find(({ hash }) => hash === id) ?? links[0]
    if (wanted === current) return
    for (const link of links) {
      byId(link.hash.slice(1)).hidden = link !== wanted
      if (link === wanted) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
    }
    const view = wanted.hash.slice(1)
    // On a phone the views are a line that scrolls.
    const { offsetLeft, offsetWidth, parentElement: line } = wanted
    line.scrollLeft = offsetLeft + offsetWidth / 2 - line.clientWidth / 2
    document.title = `${wanted.textContent} · Turnlock`
    if (current) {
      // The new view was never scrolled: there is nothing to see moving.
      scrollTo({ top: 0, behavior: 'instant' })
      byId(view).querySelector('h1').focus({ preventScroll: true })
    }
    current = wanted
    follow(view)
    const isNew = !done.has(view)
    if (isNew) opened[view]?.()
    done.add(view)
    if (isNew) void share(view)
  }
  addEventListener('hashchange', show)
  show()
}
