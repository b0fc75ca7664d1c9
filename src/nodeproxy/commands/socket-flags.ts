import { type Command, InvalidArgumentError } from 'commander'
import { type InspectionClient, withInspection } from '../../inspection/inspection-client.ts'
import type { CommandContext } from './command-module.ts'

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

/** What a command lists of the Services of this node. */
interface Listing<T> {
  readonly read: (client: InspectionClient, service: string) => AsyncIterable<T>
  readonly json: (one: T) => unknown
  readonly text: (one: T) => string
  /** The first line for people. */
  readonly title?: string
}

/** Completes a command that lists something of one Service, of a namespace, or of all. */
export function defineListing<T>(
  command: Command,
  { host, finish }: CommandContext,
  { read, json, text, title = '' }: Listing<T>,
): void {
  command.argument('[service]', 'NAMESPACE/NAME, or NAMESPACE/ for all of a namespace', '')
  addSocketFlags(command).action(async (service: string, { socket, output }: SocketFlags) => {
    const isJson = output === 'json'
    const count = await withInspection(socket, async (client) => {
      let listed = 0
      for await (const one of read(client, service)) {
        if (!isJson && listed === 0) host.stdout.write(title)
        listed++
        host.stdout.write(isJson ? `${JSON.stringify(json(one))}\n` : text(one))
      }
      return listed
    })
    if (count > 0 || service === '') return finish(0)
    host.stderr.write(`node-proxy: this node forwards no port of ${JSON.stringify(service)}\n`)
    finish(1)
  })
}

/** Adds the choice of text for people or JSON for programs. */
export function addOutputFlag(command: Command): Command {
  return command.option('-o, --output <format>', 'text or json', parseOutput, 'text')
}

function parseOutput(text: string): 'text' | 'json' {
  if (text === 'text' || text === 'json') return text
  throw new InvalidArgumentError(`write text or json, not ${JSON.stringify(text)}`)
}
