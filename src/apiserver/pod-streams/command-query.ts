import type { WantedStreams } from '../../streams/remote-command/command-connection.ts'
import { parseFlag } from '../request/list-options.ts'
import type { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'

/** A command and the streams that its client wants. */
export interface CommandQuery {
  readonly command: readonly string[]
  readonly streams: WantedStreams
}

/** Reads `PodExecOptions`. */
export function readCommandQuery(query: URLSearchParams): CommandQuery | StatusError {
  const command = query.getAll('command')
  if ((command[0] ?? '') === '') return badRequest('you must specify a command for the container')
  if (command.some((word) => word.includes('\0'))) {
    return badRequest('a command must not contain the character NUL')
  }
  const tty = parseFlag(query, 'tty')
  const streams = {
    tty,
    stdin: parseFlag(query, 'stdin'),
    stdout: parseFlag(query, 'stdout'),
    stderr: parseFlag(query, 'stderr') && !tty,
  }
  const isAny = streams.stdin || streams.stdout || streams.stderr
  if (!isAny) return badRequest('you must specify at least 1 of stdin, stdout, stderr')
  return { command, streams }
}
