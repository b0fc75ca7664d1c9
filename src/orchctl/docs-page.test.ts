import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { COMMANDS } from './commands.ts'
import type { CommandContext } from './session/command-module.ts'

const page = readFileSync(new URL('../../docs/operate/orchctl.md', import.meta.url), 'utf8')

test('the page lists every command that --help lists, in the same words and order', async () => {
  const rows: string[] = []
  for (const { name, summary, isHidden = false, load } of COMMANDS) {
    if (isHidden) continue
    const command = new Command(name).description(
      `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    )
    const module = await load()
    module.define(command, {} as CommandContext)
    rows.push(...rowsOf(command, name))
  }
  expect(page.split('\n').filter((line) => line.startsWith('| `orchctl'))).toEqual(rows)
})

/** A command is listed unless it only has others. */
function rowsOf(command: Command, path: string): readonly string[] {
  const isGroup = command.commands.length > 0 && path !== 'create'
  return [
    ...(isGroup ? [] : [`| \`orchctl ${path}\` | ${command.description()} |`]),
    ...command.commands.flatMap((inner) => rowsOf(inner, `${path} ${inner.name()}`)),
  ]
}
