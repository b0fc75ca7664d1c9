import { Command } from 'commander'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import { openSession } from '../session/open-session.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { addGlobalFlags, type GlobalFlags } from '../usage/global-flags.ts'
import { candidatesFor } from './candidates.ts'

/** `orchctl __complete -- WORD...`: what the last word may become, one a line; used by the scripts of shells. */
export function define(command: Command, context: CommandContext): void {
  command.argument('[words...]')
  runs(command, context, complete)
}

async function complete(
  words: readonly string[],
  _flags: object,
  context: CommandContext,
): Promise<ExitCode> {
  const flags = globalsOf(words)
  const { host } = context
  const opened = { session: undefined as ReturnType<typeof openSession> | undefined }
  const inner: CommandContext = {
    ...context,
    globals: () => flags,
    notice: () => undefined,
    session: () => {
      const { env, version } = host
      opened.session ??= openSession({ flags, env, version, notice: () => undefined })
      return opened.session
    },
  }
  try {
    const last = words.at(-1) ?? ''
    const found = await candidatesFor(words.slice(0, -1), last, inner)
    const fitting = [...new Set(found)].filter((one) => one.startsWith(last) && PLAIN.test(one))
    context.print(fitting.map((one) => `${one}\n`).join(''))
  } catch {
    // Without a server there is nothing to offer, and a message would disturb the line that is typed.
  } finally {
    await opened.session?.then((session) => session.close()).catch(() => undefined)
  }
  return 0
}

const TIMEOUT = '3s'

/** The shell puts a word as it is into the line that is run: none of its own characters may be in it. */
const PLAIN = /^[\w.:/@%+,=-]+$/

/** The global flags that are typed already. */
function globalsOf(words: readonly string[]): GlobalFlags {
  const parser = new Command().allowUnknownOption().allowExcessArguments().exitOverride()
  parser.configureOutput({ writeErr: () => undefined })
  addGlobalFlags(parser)
  try {
    parser.parse(words.slice(0, -1), { from: 'user' })
  } catch {
    return { requestTimeout: TIMEOUT }
  }
  return { ...parser.opts<GlobalFlags>(), requestTimeout: TIMEOUT }
}
