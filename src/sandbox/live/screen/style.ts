/** A piece of a line: its text, and how it looks. The width of a line is that of its texts. */
export interface Span {
  readonly text: string
  readonly look?: 'bold' | 'dim' | 'good' | 'bad' | 'warn' | 'head'
}

export type Line = readonly Span[]

const CODES = { bold: '1', dim: '2', good: '32', bad: '31', warn: '33', head: '1;36' } as const
const CONTROL = /\p{Cc}/gu

/** A line for a terminal, cut to a width; control characters in its texts are made harmless. */
export function paint(line: Line, width: number): string {
  let left = width
  let painted = ''
  for (const { text, look } of line) {
    const shown = cut(text.replace(CONTROL, '?'), left)
    left -= shown.length
    painted += look === undefined ? shown : `\u001b[${CODES[look]}m${shown}\u001b[0m`
    if (left <= 0) break
  }
  return painted
}

/** Text padded with blanks, or cut, to exactly a width, plus one blank. */
export function cell(text: string, width: number): string {
  return `${cut(text, width).padEnd(width)} `
}

function cut(text: string, width: number): string {
  if (text.length <= width) return text
  return width <= 1 ? text.slice(0, Math.max(0, width)) : `${text.slice(0, width - 1)}…`
}
