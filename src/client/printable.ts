const MAX_CHARACTERS = 512
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

/**
 * Makes text from the network safe for a log line: one line of at most 512 characters, without control characters.
 */
export function printable(text: string): string {
  const line = text
    .slice(0, 4 * MAX_CHARACTERS)
    .replace(UNPRINTABLE, ' ')
    .trim()
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS - 1)}…` : line
}
