/** A line that stands for any number of lines. */
const LEFT_OUT = '…'
/** A name with the suffix that the API server generates. */
const MADE_UP = /\b([a-z]+)-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g

/**
 * How the text of a page differs from what a command printed. Empty if both have the same shape: the same lines in the
 * same order, with any numbers, and further lines only where the page has an ellipsis.
 */
export function shapeFaults(shown: string, printed: string): readonly string[] {
  const parts = linesOf(shown).reduce<readonly (readonly string[])[]>(
    (all, line) =>
      line === LEFT_OUT ? [...all, []] : [...all.slice(0, -1), [...all.at(-1)!, line]],
    [[]],
  )
  const lines = linesOf(printed)
  const isWhole = parts.length === 1
  let next = 0
  for (const [index, part] of parts.entries()) {
    const at = index === 0 ? 0 : placeOf(part, lines, next, index === parts.length - 1)
    const fault = part.find((line, offset) => lines[at + offset] !== line)
    if (fault !== undefined) return [`not printed: ${fault}`, ...lines]
    next = at + part.length
  }
  return isWhole && next < lines.length ? [`not shown: ${lines[next]}`, ...lines] : []
}

/** Where a part begins, after lines that are left out; the last part is at the end. */
function placeOf(
  part: readonly string[],
  lines: readonly string[],
  from: number,
  isLast: boolean,
): number {
  if (isLast) return Math.max(from, lines.length - part.length)
  const found = lines.findIndex(
    (_, at) => at >= from && part.every((line, offset) => lines[at + offset] === line),
  )
  return found === -1 ? from : found
}

function linesOf(text: string): readonly string[] {
  return text.trimEnd().split('\n').map(shapeOf)
}

function shapeOf(line: string): string {
  return line
    .replaceAll(MADE_UP, '$1-made')
    .replaceAll(/\d+(?:\.\d+)*/g, '0')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
