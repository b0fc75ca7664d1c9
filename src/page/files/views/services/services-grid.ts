import { html } from 'htm/preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { routeHash } from '../../route/route.ts'
import { moveRow } from '../../services/move-row.ts'
import type { Selection } from '../../services/select-rows.ts'
import type { ServiceRow } from '../../services/service-row.ts'
import { elementCount, scrollTo, visibleWindow } from '../../services/visible-window.ts'
import { GridHeadings } from './grid-headings.ts'
import { GridRow } from './grid-row.ts'

interface Props {
  readonly rows: readonly ServiceRow[]
  readonly selection: Selection
  readonly select: (selection: Selection) => void
  /** The Service whose details are shown. */
  readonly opened: string
  readonly isLoading: boolean
}

/** As `.grid` in services.css has them, in pixels. */
const ROW_HEIGHT = 30
const HEAD_HEIGHT = 32

/**
 * The table. Only the rows that are seen exist; a screen reader gets their number and position from ARIA. The grid is
 * one stop of the tab key, and the arrow keys move its active row.
 */
export function ServicesGrid({ rows, selection, select, opened, isLoading }: Props) {
  const grid = useRef<HTMLDivElement>(null)
  const { scrollTop, height } = useScroll(grid)
  const [active, setActive] = useState('')
  const index = rows.findIndex(({ service }) => service === active)
  const viewport = { scrollTop, height, rowHeight: ROW_HEIGHT, count: rows.length }
  const { start, end } = visibleWindow(viewport)
  const elements = elementCount(viewport)
  const isSeen = index >= start && index < end

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== grid.current) return
    if (event.key === 'Enter' && index >= 0) return open(active)
    const page = Math.max(1, Math.floor(height / ROW_HEIGHT) - 1)
    const row = index === -1 ? -1 : index
    const target = moveRow(event.key, row, { count: rows.length, page })
    if (target === undefined || rows.length === 0) return
    event.preventDefault()
    setActive(rows[target]?.service ?? '')
    grid.current?.scrollTo({
      top: scrollTo(target, { ...viewport, scrollTop: grid.current.scrollTop }),
    })
  }
  const shown = rows.slice(start, end)
  return html`<div
    class="grid"
    role="grid"
    aria-label="Services"
    aria-rowcount=${rows.length + 1}
    aria-colcount="6"
    aria-busy=${isLoading}
    aria-activedescendant=${isSeen ? `row-${index}` : undefined}
    tabindex="0"
    ref=${grid}
    onKeyDown=${onKeyDown}
  >
    <${GridHeadings} selection=${selection} select=${select} />
    <div role="rowgroup" class="rows" style=${{ height: `${rows.length * ROW_HEIGHT}px` }}>
      ${shown.map((row, offset) => {
        const at = start + offset
        return html`<${GridRow}
          key=${at % elements}
          ...${{ row, index: at, top: at * ROW_HEIGHT }}
          isActive=${row.service === active}
          isOpened=${row.service === opened}
          onOpen=${open}
          onActivate=${setActive}
        />`
      })}
    </div>
    ${rows.length === 0 && !isLoading ? html`<p class="empty">No Service fits.</p>` : null}
  </div>`
}

function open(service: string): void {
  location.hash = routeHash({ view: 'services', service })
}

/** Where the grid is scrolled to, once for each frame, and the height that its rows have. */
function useScroll(grid: { readonly current: HTMLDivElement | null }) {
  const [scroll, setScroll] = useState({ scrollTop: 0, height: 600 })
  const measure = useRef((): void => undefined)
  useLayoutEffect(() => {
    measure.current = () => {
      const { current } = grid
      if (current === null) return
      const next = { scrollTop: current.scrollTop, height: current.clientHeight - HEAD_HEIGHT }
      setScroll((old) =>
        old.scrollTop === next.scrollTop && old.height === next.height ? old : next,
      )
    }
    measure.current()
  }, [])
  useEffect(() => {
    const { current } = grid
    if (current === null) return undefined
    let frame = 0
    const schedule = (): void => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => measure.current())
    }
    current.addEventListener('scroll', schedule, { passive: true })
    const sizes = new ResizeObserver(schedule)
    sizes.observe(current)
    return () => {
      cancelAnimationFrame(frame)
      current.removeEventListener('scroll', schedule)
      sizes.disconnect()
    }
  }, [])
  return scroll
}
