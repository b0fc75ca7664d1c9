import { readFileSync } from 'node:fs'

const PAGE = new URL('../../../docs/operate/take-over.md', import.meta.url)

/** The commands of one section of the page, in their order. Throws where there are none. */
export function commandsOf(heading: string): readonly string[] {
  const page = readFileSync(PAGE, 'utf8')
  const section = page.split(/^#+ /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
  const blocks = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text)
  const commands = blocks.join('').split('\n').map(withoutComment).filter(Boolean)
  if (commands.length === 0) throw new Error(`take-over.md has no commands under “${heading}”`)
  return joinContinued(commands)
}

function withoutComment(line: string): string {
  return line.replace(/(^| +)# .*$/, '').trimEnd()
}

/** A line that ends with a backslash goes on in the next. */
function joinContinued(lines: readonly string[]): readonly string[] {
  return lines
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
}
