import { html } from 'htm/preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { formatCount } from '../display/format.ts'
import type { Order, Selection } from '../display/selection.ts'

/** Extra rows beyond each edge, so that scrolling shows no gap before the next frame. */
const SPARE = 10

/** One column of a grid. */
export interface Column<Row> {
  /** The key by which rows are sorted. */
  readonly key: string
  readonly name: string
  readonly isNumber?: boolean
  /** What a cell holds. */
  readonly show: (row: Row) => unknown
  /** Classes of its cells. */
  readonly className?: (row: Row) => string
  /** The full text of a cell that may be cut off. */
  readonly title?: (row: Row) => string
}

/** What a grid shows. */
export interface GridProps<Row> {
  /** Its name for a screen reader. */
  readonly label: string
  /** The name that the style sheet uses for the widths of its columns. */
  readonly name: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly order: Order
  readonly sortBy: (key: string) => void
  /** The key whose details are shown; empty: none. */
  readonly opened: string
  readonly open: (key: string) => void
  readonly isLoading: boolean
  /** The text that is shown when there is no row. */
  readonly empty: string
}

/** Heights in pixels, the same as those of `.grid` in services.css. */
const ROW_HEIGHT = 30
const HEAD_HEIGHT = 32

/**
 * A table. Only visible rows have elements; a screen reader gets the number and position of all rows from ARIA. The
 * grid is one stop of the tab key, and the arrow keys move its active row.
 */
export function Grid<Row>(props: GridProps<Row>) {
  const { columns, rows, keyOf, opened, open, isLoading } = props
  const grid = useRef<HTMLDivElement>(null)
  const { scrollTop, height } = useScroll(grid, HEAD_HEIGHT)
  const [active, setActive] = useState('')
  const index = active === '' ? -1 : rows.findIndex((row) => keyOf(row) === active)
  const viewport = { scrollTop, height, rowHeight: ROW_HEIGHT, count: rows.length }
  const { start, end } = visibleWindow(viewport)
  const elements = elementCount(viewport)
  const isSeen = index >= start && index < end

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== grid.current) return
    if (event.key === 'Enter' && index >= 0) return open(active)
    const page = Math.max(1, Math.floor(height / ROW_HEIGHT) - 1)
    const target = moveRow(event.key, index, { count: rows.length, page })
    const row = target === undefined ? undefined : rows[target]
    if (target === undefined || row === undefined) return
    event.preventDefault()
    setActive(keyOf(row))
    grid.current?.scrollTo({
      top: scrollTo(target, { ...viewport, scrollTop: grid.current.scrollTop }),
    })
  }
  const choose = (key: string) => {
    setActive(key)
    open(key)
  }
  return html`<div
    class="grid"
    data-columns=${props.name}
    role="grid"
    aria-label=${props.label}
    aria-rowcount=${rows.length + 1}
    aria-colcount=${columns.length}
    aria-busy=${isLoading}
    aria-activedescendant=${isSeen ? `row-${index}` : undefined}
    tabindex="0"
    ref=${grid}
    onKeyDown=${onKeyDown}
  >
    <${GridHeadings} columns=${columns} order=${props.order} sortBy=${props.sortBy} />
    <div role="rowgroup" class="rows" style=${{ height: `${rows.length * ROW_HEIGHT}px` }}>
      ${rows.slice(start, end).map((row, offset) => {
        const [at, key] = [start + offset, keyOf(row)]
        return html`<${GridRow}
          key=${at % elements}
          ...${{ row, columns, index: at, top: at * ROW_HEIGHT }}
          isActive=${key === active}
          isOpened=${key === opened}
          onClick=${() => choose(key)}
        />`
      })}
    </div>
    ${rows.length === 0 && !isLoading ? html`<p class="empty">${props.empty}</p>` : null}
  </div>`
}

interface GridHeadingsProps {
  readonly columns: readonly Pick<Column<never>, 'key' | 'name' | 'isNumber'>[]
  readonly order: Order
  readonly sortBy: (key: string) => void
}

/** The first row of the grid: the headings of the columns, and the one by which rows are sorted. */
function GridHeadings({ columns, order, sortBy }: GridHeadingsProps) {
  return html`<div role="rowgroup" class="head">
    <div role="row" class="row" aria-rowindex="1">
      ${columns.map(
        ({ key, name, isNumber = false }, index) => html`<div
          key=${key}
          role="columnheader"
          class=${isNumber ? 'number' : ''}
          aria-colindex=${index + 1}
          aria-sort=${sortOf(order, key)}
        >
          <button type="button" onClick=${() => sortBy(key)}>${name}</button>
        </div>`,
      )}
    </div>
  </div>`
}

function sortOf({ sort, isDescending }: Order, key: string): string {
  if (sort !== key) return 'none'
  return isDescending ? 'descending' : 'ascending'
}

/** Where the grid is scrolled to, once for each frame, and the height that its rows have; pixels. */
function useScroll(grid: { readonly current: HTMLElement | null }, headHeight: number) {
  const [scroll, setScroll] = useState({ scrollTop: 0, height: 600 })
  const measure = useRef((): void => undefined)
  useLayoutEffect(() => {
    measure.current = () => {
      const { current } = grid
      if (current === null) return
      const next = { scrollTop: current.scrollTop, height: current.clientHeight - headHeight }
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

interface GridRowProps<Row> {
  readonly row: Row
  readonly columns: readonly Column<Row>[]
  /** From 0, without the headings. */
  readonly index: number
  /** Pixels from the first row. */
  readonly top: number
  readonly isActive: boolean
  readonly isOpened: boolean
  readonly onClick: () => void
}

function GridRow<Row>(props: GridRowProps<Row>) {
  const { row, columns, index, top, isActive, isOpened, onClick } = props
  return html`<div
    role="row"
    id=${`row-${index}`}
    class=${`row${isActive ? ' active' : ''}`}
    aria-rowindex=${index + 2}
    aria-selected=${isOpened}
    style=${{ transform: `translateY(${top}px)` }}
    onClick=${onClick}
  >
    ${columns.map((column, at) => {
      const { key, isNumber = false, show, className, title } = column
      const classes = [isNumber ? 'number' : '', className?.(row) ?? ''].filter(Boolean)
      return html`<div
        key=${key}
        role="gridcell"
        aria-colindex=${at + 1}
        class=${classes.join(' ')}
        title=${title?.(row)}
      >
        ${show(row)}
      </div>`
    })}
  </div>`
}

/** The row to which a key moves; undefined: the key does not move. `page`: the number of visible rows. */
export function moveRow(
  key: string,
  row: number,
  { count, page }: { readonly count: number; readonly page: number },
): number | undefined {
  const target = targetOf(key, row, { count, page })
  return target === undefined ? undefined : Math.max(0, Math.min(count - 1, target))
}

function targetOf(key: string, row: number, { count, page }: { count: number; page: number }) {
  switch (key) {
    case 'ArrowDown':
      return row + 1
    case 'ArrowUp':
      return row - 1
    case 'PageDown':
      return row + page
    case 'PageUp':
      return row - page
    case 'Home':
      return 0
    case 'End':
      return count - 1
    default:
      return undefined
  }
}

/** The visible part of a long list. Lengths are pixels. */
interface Viewport {
  readonly scrollTop: number
  readonly height: number
  readonly rowHeight: number
  readonly count: number
}

/** Rows from `start` to before `end`. */
interface RowRange {
  readonly start: number
  readonly end: number
}

/** The rows that need elements. */
export function visibleWindow({ scrollTop, height, rowHeight, count }: Viewport): RowRange {
  const first = Math.floor(Math.max(0, scrollTop) / rowHeight)
  const last = first + Math.ceil(height / rowHeight)
  const start = Math.min(Math.max(0, first - SPARE), Math.max(0, count - 1))
  return { start, end: Math.min(count, Math.max(last, 0) + SPARE) }
}

/**
 * The number of elements for the rows of any window. Row n is shown by element n modulo that number, so that scrolling
 * changes the content of elements, and creates none.
 */
export function elementCount({ height, rowHeight }: Viewport): number {
  return Math.ceil(height / rowHeight) + 2 * SPARE
}

/** The scroll position that makes a row fully visible with the least movement. */
export function scrollTo(row: number, { scrollTop, height, rowHeight }: Viewport): number {
  const top = row * rowHeight
  if (top < scrollTop) return top
  return Math.max(scrollTop, top + rowHeight - height)
}

interface ToolbarProps {
  readonly selection: Selection
  readonly select: (change: Partial<Pick<Selection, 'text' | 'onlyProblems'>>) => void
  /** What is filtered, such as `Services`, and by what. */
  readonly name: string
  readonly placeholder: string
  /** How many rows have a problem. */
  readonly problems: number
}

/** Chooses which rows of a table are shown. */
export function Toolbar({ selection, select, name, placeholder, problems }: ToolbarProps) {
  const filter = (event: InputEvent) => select({ text: (event.target as HTMLInputElement).value })
  const restrict = (event: Event) =>
    select({ onlyProblems: (event.target as HTMLInputElement).checked })
  return html`<search class="toolbar">
    <label for="filter" class="visually-hidden">Filter the ${name}</label>
    <input
      id="filter"
      type="search"
      placeholder=${placeholder}
      autocomplete="off"
      spellcheck="false"
      value=${selection.text}
      onInput=${filter}
    />
    <label class="check">
      <input type="checkbox" checked=${selection.onlyProblems} onChange=${restrict} />
      Only problems (${formatCount(problems)})
    </label>
  </search>`
}
