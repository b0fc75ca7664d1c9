/** The row that a key leads to; undefined: the key does not move. `page`: rows that are seen at once. */
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
