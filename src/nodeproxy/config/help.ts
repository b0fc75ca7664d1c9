import { COMMAND_FLAGS, PORT_FLAGS } from './command-line.ts'
import { type AnyField, FIELD_ENTRIES } from './fields/index.ts'
import { IGNORED_FLAGS } from './ignored-fields.ts'

const WIDTH = 100
const INDENT = ' '.repeat(6)

/** The text of --help. */
export function helpText(): string {
  const commands = Object.entries(COMMAND_FLAGS).map(([flag, about]) =>
    item(`--${flag}${'value' in about ? ` <${about.value}>` : ''}`, about.doc),
  )
  const settings = FIELD_ENTRIES.map(([path, field]) => settingItem(path, field))
  const ports = Object.entries(PORT_FLAGS).map(([flag, { instead }]) =>
    item(`--${flag} <port>`, `Deprecated: use --${instead}.`),
  )
  const ignored = wrap([...IGNORED_FLAGS.keys()].map((flag) => `--${flag}`).join(' '), '  ')
  return `node-proxy watches Services and their endpoints and makes this node's kernel forward packets
accordingly.

Usage: node-proxy [flags]

${commands.join('\n')}

Settings (flag beats file beats default; the file's field in parentheses):

${settings.join('\n')}
${ports.join('\n')}

Accepted and ignored, so that existing deployments start:
${ignored}

Exit codes: 0 done, or stopped by a signal; 1 failure while running; 2 wrong flags or configuration.
`
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
