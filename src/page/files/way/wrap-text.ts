/** Text in lines of at most `width` characters, broken between words where that is possible; what is left is cut. */
export function wrapText(text: string, width: number, maxLines: number): readonly string[] {
  const lines: string[] = []
  let rest = text.trim()
  while (rest !== '' && lines.length < maxLines) {
    if (rest.length <= width) return [...lines, rest]
    const space = rest.lastIndexOf(' ', width)
    const end = space > width / 2 ? space : width
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trim()
  }
  if (rest === '') return lines
  const last = lines.pop() ?? ''
  return [...lines, `${last.slice(0, width - 1)}…`]
}
