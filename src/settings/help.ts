import type { AnyField } from './field.ts'
import type { CommandFlag, SettingsTable } from './table.ts'

const WIDTH = 100
const INDENT = ' '.repeat(6)

/** The text of --help. */
export function helpText<C>(table: SettingsTable<C>): string {
  const commands = Object.entries(table.commandFlags).map(commandItem)
  const settings = table.entries.map(([path, field]) => settingItem(path, field))
  const deprecated = [...table.deprecatedFlags].map(([flag, { path, value }]) =>
    item(`--${flag} <${value}>`, `Deprecated: use --${table.byPath.get(path)?.flag}.`),
  )
  return `${wrap(table.about, '')}

Usage: ${table.program} [flags]
${subcommands(table)}
${commands.join('\n')}

Settings (flag beats file beats default; the file's field in parentheses):

${[...settings, ...deprecated].join('\n')}

${ignoredFlags([...table.ignoredFlags.keys()])}Exit codes: 0 done, or stopped by a signal; 1 failure while running; 2 wrong flags or
configuration, found before anything was changed.
`
}

function subcommands<C>({ program, subcommands: rows = [] }: SettingsTable<C>): string {
  if (rows.length === 0) return ''
  const width = Math.max(...rows.map(({ name }) => name.length))
  const lines = rows.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}\n`)
  return `       ${program} COMMAND [flags]\n\nCommands (each has --help):\n${lines.join('')}`
}

function ignoredFlags(flags: readonly string[]): string {
  if (flags.length === 0) return ''
  const names = flags.map((flag) => `--${flag}`).join(' ')
  return `Accepted and ignored, so that existing deployments start:\n${wrap(names, '  ')}\n\n`
}

function commandItem([flag, { value, doc }]: readonly [string, CommandFlag]): string {
  return item(`--${flag}${value === undefined ? '' : ` <${value}>`}`, doc)
}

function settingItem(path: string, field: AnyField): string {
  const name = field.flag === 'v' ? '-v, --v' : `--${field.flag}`
  const fallback = JSON.stringify(field.type.encode(field.fallback))
  const shape = field.type.name === 'boolean' ? '[=true|false]' : ` <${field.type.name}>`
  return item(`${name}${shape}`, `${field.doc} Default: ${fallback}. (${path})`)
}

function item(head: string, doc: string): string {
  return `  ${head}\n${wrap(doc, INDENT)}`
}

function wrap(text: string, indent: string): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > WIDTH) {
      lines.push(indent + line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, indent + line].join('\n')
}
