import { isTest, type SourceFile } from './source-file.ts'

const code = /\bNP_[A-Z0-9]+(?:_[A-Z0-9]+)+\b/g
/** Variables of the environment look like codes and are none. */
const variables: ReadonlySet<string> = new Set(['NP_PROXY_MODE'])
const row = /^\|\s*`?(NP_[A-Z0-9_]+)`?\s*\|([^|]*)\|([^|]*)\|\s*$/

/** What differs between the codes that `src` uses and the rows of docs/errors.md. */
export function catalogueFaults(
  sources: readonly SourceFile[],
  catalogue: string,
): readonly string[] {
  const used = usedCodes(sources)
  const rows = catalogue.split('\n').filter((line) => line.startsWith('|') && line.includes('NP_'))
  const known = rows.map((line) => row.exec(line)?.[1])
  return [
    ...[...used]
      .filter(([name]) => !known.includes(name))
      .map(([name, path]) => `${path}: ${name} does not stand in docs/errors.md`),
    ...known
      .filter((name) => name !== undefined && !used.has(name))
      .map((name) => `docs/errors.md: nothing in src uses ${name}`),
    ...known
      .filter((name, index) => name !== undefined && known.indexOf(name) !== index)
      .map((name) => `docs/errors.md: ${name} stands there twice`),
    ...rows.filter(isIncomplete).map((line) => `docs/errors.md: incomplete row: ${line}`),
  ]
}

/** Each code that the program can raise, and the first file that does. */
function usedCodes(sources: readonly SourceFile[]): ReadonlyMap<string, string> {
  const used = new Map<string, string>()
  for (const { path, text } of sources.filter((file) => !isTest(file.path))) {
    for (const [name] of text.matchAll(code)) {
      if (!used.has(name) && !variables.has(name)) used.set(name, path)
    }
  }
  return used
}

/** A row needs a code, a meaning and an advice. */
function isIncomplete(line: string): boolean {
  const cells = row.exec(line)
  return cells === null || cells[2]?.trim() === '' || cells[3]?.trim() === ''
}
