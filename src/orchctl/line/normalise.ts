import type { Command } from 'commander'

/**
 * The arguments as the parser reads them: `-o=json` as `-ojson`; a switch with its value, `--wait=false`, as
 * `--no-wait`, or not at all where the switch is off anyway. Nothing behind `--` is changed.
 */
export function normalised(args: readonly string[], program: Command): readonly string[] {
  const switches = new Set(switchesOf(program))
  const end = args.includes('--') ? args.indexOf('--') : args.length
  return args.flatMap((arg, index) => (index < end ? normalise(arg, switches) : [arg]))
}

function normalise(arg: string, switches: ReadonlySet<string>): readonly string[] {
  const short = /^-([A-Za-z])=(.+)$/s.exec(arg)
  if (short !== null) return [`-${short[1]}${short[2]}`]
  const [, name = '', value] = /^--([a-z-]+)=(true|false)$/.exec(arg) ?? []
  const [on, off] = [`--${name}`, `--no-${name}`]
  if (!switches.has(on) && !switches.has(off)) return [arg]
  const meant = value === 'true' ? on : off
  return switches.has(meant) ? [meant] : []
}

/** The switches of the commands that are loaded, with their dashes. */
function switchesOf(command: Command): readonly string[] {
  const own = command.options.filter((option) => option.isBoolean() || option.negate)
  return [...own.map(({ long }) => long ?? ''), ...command.commands.flatMap(switchesOf)]
}
