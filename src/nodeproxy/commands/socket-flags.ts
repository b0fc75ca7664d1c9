import { type Command, InvalidArgumentError } from 'commander'

/** Where node-proxy serves inspection unless it is configured otherwise. */
const DEFAULT_SOCKET = '/run/node-proxy/inspect.sock'

/** The flags of commands that read a running node-proxy. */
export interface SocketFlags {
  readonly socket: string
  readonly output: 'text' | 'json'
}

/** Adds those flags. */
export function addSocketFlags(command: Command): Command {
  return addOutputFlag(command).option(
    '--socket <path>',
    'the inspection.socket of node-proxy',
    DEFAULT_SOCKET,
  )
}

/** Adds the choice of text for people or JSON for programs. */
export function addOutputFlag(command: Command): Command {
  return command.option('-o, --output <format>', 'text or json', parseOutput, 'text')
}

function parseOutput(text: string): 'text' | 'json' {
  if (text === 'text' || text === 'json') return text
  throw new InvalidArgumentError(`write text or json, not ${JSON.stringify(text)}`)
}
