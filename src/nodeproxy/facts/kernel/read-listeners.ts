import type { RunCommand } from '../../../explain/host/run-command.ts'
import type { Protocol } from '../../../resources/types.ts'

/** A listening TCP socket or unconnected UDP socket, with its process as far as it may be seen. */
export interface ListeningProcess {
  readonly protocol: Protocol
  readonly address: string
  readonly port: number
  /** Empty: not to be seen. */
  readonly process: string
  /** 0: not to be seen. */
  readonly pid: number
}

/** Columns of `ss -Hlntup`: protocol, state, two queues, local address, remote address, `users:(("NAME",pid=N,fd=N))`. */
export async function readListeners(run: RunCommand): Promise<readonly ListeningProcess[]> {
  const { status, stdout } = await run('ss', ['-Hlntup'])
  if (status !== 0) return []
  return stdout.split('\n').flatMap((line) => {
    const [kind = '', , , , local = ''] = line.trim().split(/\s+/)
    const port = Number(local.slice(local.lastIndexOf(':') + 1))
    if ((kind !== 'tcp' && kind !== 'udp') || !Number.isInteger(port)) return []
    const protocol: Protocol = kind === 'tcp' ? 'TCP' : 'UDP'
    const address = local.slice(0, local.lastIndexOf(':'))
    return [{ protocol, address, port, ...processOf(line) }]
  })
}

/** The process that listens on a Unix socket; 0: it is not to be seen. */
export async function processAtSocket(run: RunCommand, path: string): Promise<number> {
  const { status, stdout } = await run('ss', ['-Hxlp'])
  if (status !== 0) return 0
  const line = stdout.split('\n').find((one) => one.split(/\s+/).includes(path))
  return line === undefined ? 0 : processOf(line).pid
}

function processOf(line: string): Pick<ListeningProcess, 'process' | 'pid'> {
  const [, process = '', pid = '0'] = /users:\(\("([^"]*)",pid=(\d+)/.exec(line) ?? []
  return { process, pid: Number(pid) }
}
