/** What of a long list is seen. Lengths are pixels. */
export interface Viewport {
  readonly scrollTop: number
  readonly height: number
  readonly rowHeight: number
  readonly count: number
}

/** Rows from `start` to before `end`. */
export interface RowRange {
  readonly start: number
  readonly end: number
}

/** Rows beyond each edge, so that scrolling shows no gap before the next frame. */
const SPARE = 10

/** The rows that have to exist. */
export function visibleWindow({ scrollTop, height, rowHeight, count }: Viewport): RowRange {
  const first = Math.floor(Math.max(0, scrollTop) / rowHeight)
  const last = first + Math.ceil(height / rowHeight)
  const start = Math.min(Math.max(0, first - SPARE), Math.max(0, count - 1))
  return { start, end: Math.min(count, Math.max(last, 0) + SPARE) }
}

/**
 * How many elements show the rows of any window: row n is shown by element n modulo that number, so that scrolling changes
 * what elements hold, and makes none.
 */
export function elementCount({ height, rowHeight }: Viewport): number {
  return Math.ceil(height / rowHeight) + 2 * SPARE
}

/** Where the list has to be scrolled to so that a row is wholly seen, moving as little as possible. */
export function scrollTo(row: number, { scrollTop, height, rowHeight }: Viewport): number {
  const top = row * rowHeight
  if (top < scrollTop) return top
  return Math.max(scrollTop, top + rowHeight - height)
}
