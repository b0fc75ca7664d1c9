import type { AnyField } from './field.ts'
import type { ForeignKind, SettingsTable } from './table.ts'

/** The text of a program's document beyond its table, in Markdown. */
export interface Prose {
  /** Where the table and the test are that compares the document with it. */
  readonly source: string
  /** The content of an example file below its kind, in YAML. */
  readonly example: string
  /** The rules between settings. */
  readonly rules: string
  /** The deprecated and ignored flags. */
  readonly flags: string
  /** A setting for which an empty value has a meaning, and that meaning. */
  readonly emptyValue: string
}

/** The text of a program's configuration.md, from the same table as everything else. */
export function configurationDocument<C>(table: SettingsTable<C>, prose: Prose): string {
  const foreign = table.foreignKinds.map((kind) => foreignSection(table, kind, prose.emptyValue))
  return [introduction(table, prose), settingsSection(table, prose), flagsSection(table, prose)]
    .concat(foreign)
    .join('\n')
}

function introduction<C>({ program, kind }: SettingsTable<C>, { source, example }: Prose): string {
  return `# Configuration

<!-- Generated from ${source}; \`npx vitest run ${source} --update\` writes it anew. -->

\`\`\`yaml
apiVersion: ${kind.apiVersion}
kind: ${kind.kind}
${example}
\`\`\`

\`${program} --config=FILE\` reads such a file, YAML or JSON. Flags win over the file, the file wins
over defaults, and \`/configz\` shows for every field which of them it was. Unknown fields, duplicate
fields and values out of range are refused with file, line and column; \`${program}\` then exits with
code 2. Durations have units (\`250ms\`, \`30s\`, \`1h2m\`).

A changed file (also the swap of a mounted ConfigMap), or SIGHUP, is applied without a restart.
`
}

function settingsSection<C>({ entries }: SettingsTable<C>, { rules }: Prose): string {
  return `## Settings

| field | flag | type | default | change | meaning |
|---|---|---|---|---|---|
${entries.map(([path, field]) => fieldRow(path, field)).join('\n')}

\`change\`: \`live\` settings are taken over by a running daemon; a new file that changes a \`restart\`
setting is refused as a whole, with the names of those settings, and the old one stays in force.

${rules}
`
}

function fieldRow(path: string, field: AnyField): string {
  const fallback = JSON.stringify(field.type.encode(field.fallback))
  const note = field.fallbackNote === undefined ? '' : `; ${field.fallbackNote}`
  const flag = field.flag === 'v' ? '`-v`, `--v`' : `\`--${field.flag}\``
  const cells = [
    `\`${path}\``,
    flag,
    field.type.name,
    `\`${fallback}\`${note}`,
    field.reload ?? 'restart',
    field.doc,
  ]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function flagsSection<C>({ commandFlags }: SettingsTable<C>, { flags }: Prose): string {
  return `## Flags that are no setting

| flag | meaning |
|---|---|
${Object.entries(commandFlags)
  .map(([flag, { doc }]) => `| \`--${flag}\` | ${doc} |`)
  .join('\n')}

${flags}
`
}

function foreignSection<C>(
  { entries, kind: own }: SettingsTable<C>,
  { apiVersion, kind, ignoredFields, impliedValues = [] }: ForeignKind,
  emptyValue: string,
): string {
  const zeroIsUnset = entries
    .filter(([, field]) => field.zeroIsUnset)
    .map(([path]) => `\`${path}\``)
  const implied = impliedValues.map(
    ({ field, value, where }) =>
      `- \`${field}\` that is left out or empty is \`${JSON.stringify(value)}\` where \`${where.field}\` is \`${JSON.stringify(where.is)}\`, as it is there.\n`,
  )
  return `## A ${kind}

\`apiVersion: ${apiVersion}\` with \`kind: ${kind}\` is accepted as it
is. This differs from a ${own.kind}:

- An empty, zero or \`null\` value of ${zeroIsUnset.join(', ')} means the default, because generated files
  list every field. In a ${own.kind} what is written counts (${emptyValue}), and only \`null\` means the default.
${implied.join('')}- The fields below mean nothing here. Each that holds more than a zero value is named once in the log.

| field | why it is ignored |
|---|---|
${[...ignoredFields].map(([path, reason]) => `| \`${path}\` | ${reason} |`).join('\n')}
`
}
