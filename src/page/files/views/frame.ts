import { html } from 'htm/preact'
import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useRef } from 'preact/hooks'
import { type Route, routeHash } from '../display/route.ts'

export const PageBaseContext = createContext<PageBase>({ path: '', title: 'node-proxy' })

interface SectionProps {
  readonly title: string
  /** The class of the element that is the whole view; `table-view` for a table with details beside it. */
  readonly className: string
  readonly children?: ComponentChildren
}

/** A view with its heading, which gets the focus when the view is entered. */
export function View({ title, className, children }: SectionProps) {
  const base = useContext(PageBaseContext)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · ${base.title}`
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true })
  }, [title, base.title])
  return html`<section class=${`view ${className}`} aria-labelledby="view-title">
    <h1 id="view-title" ref=${heading} tabindex="-1">${title}</h1>
    ${children}
  </section>`
}

/** The first stop of the tab key. It moves the focus by script, because the fragment of the URL is the route. */
export function SkipLink() {
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the content</a>`
}

function skip(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#main')?.focus()
}

/** Where the views of a node are in the page. */
interface PageBase {
  /** The part of the fragment before their routes; empty on the page of one node. */
  readonly path: string
  /** What follows the name of the view in the title of the document. */
  readonly title: string
}

/** A function that makes the fragment of a route of the node whose views are shown. */
export function useRouteHash(): (route: Route) => string {
  const { path } = useContext(PageBaseContext)
  return (route) => routeHash(route, path)
}
