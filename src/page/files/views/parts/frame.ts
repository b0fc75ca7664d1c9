import { html } from 'htm/preact'
import type { ComponentChildren } from 'preact'
import { useContext, useEffect, useRef } from 'preact/hooks'
import { PageBaseContext } from './page-base.ts'

interface SectionProps {
  readonly title: string
  /** Of the element that is the whole view. */
  readonly name: string
  readonly children?: ComponentChildren
}

/** A view with its heading, which gets the focus when the view is entered. */
export function View({ title, name, children }: SectionProps) {
  const base = useContext(PageBaseContext)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · ${base.title}`
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true })
  }, [title, base.title])
  return html`<section class=${`view ${name}`} aria-labelledby=${`${name}-title`}>
    <h1 id=${`${name}-title`} ref=${heading} tabindex="-1">${title}</h1>
    ${children}
  </section>`
}
