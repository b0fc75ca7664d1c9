const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
const EXCEPT_LINES = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** Text from a server as one line that cannot control a terminal: control and formatting characters as `\u001b`. */
export function oneLine(text: string): string {
  return text.replace(UNPRINTABLE, escaped)
}

/** The same for a text of several lines: line ends and tabs stay. */
export function severalLines(text: string): string {
  return text.replace(EXCEPT_LINES, escaped)
}

/** A character as JSON and double-quoted YAML write it. */
export function escaped(character: string): string {
  if (character === '\n') return '\\n'
  if (character === '\t') return '\\t'
  if (character === '\r') return '\\r'
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('')
}
