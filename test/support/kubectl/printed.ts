const PLACEHOLDERS: Readonly<Record<string, string>> = {
  '<age>': String.raw`\d+[smh]\S*`,
  '<time>': String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`,
  '<uid>': '[0-9a-f-]{36}',
  '<ns>': String.raw`[\w-]+`,
  '<version>': 'v1(?:beta1)?',
  '<bytes>': String.raw`\d+ bytes`,
  '<jwt>': String.raw`[\w-]+\.[\w-]+\.[\w-]+`,
}

/**
 * Matches exactly these lines, with columns of any width. `<age>`, `<time>`, `<uid>`, `<ns>` (a namespace),
 * `<version>`, `<bytes>` and `<jwt>` stand for what differs from run to run.
 */
export function printed(...lines: readonly string[]): RegExp {
  return new RegExp(`^${lines.map(pattern).join(String.raw`\n`)}\n?$`)
}

function pattern(line: string): string {
  const words = line.trim().split(/\s+/u).map(wordPattern)
  const indent = line.startsWith(' ') || line.startsWith('\t') ? String.raw`\s+` : ''
  return `${indent}${words.join('[ \t]+')}[ \t]*`
}

function wordPattern(word: string): string {
  const parts = word.split(/(<[a-z]+>)/u)
  return parts.map((part) => PLACEHOLDERS[part] ?? escaped(part)).join('')
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`)
}
