import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { NodeProxyError } from '../../lib/error.ts'
import { runCommand } from '../system/run-command.ts'

/** A mount namespace: a copy of the machine's mounts, in which more can be made that no other process sees. */
export interface MountNamespace {
  /** The file by which `nsenter` enters it. */
  readonly path: string
  /** Runs a program in it. @throws NP_NODEAGENT_COMMAND when it does not exit 0 */
  run(command: readonly string[]): Promise<void>
  /** Lets go of it: it ends with the last process in it. */
  close(): Promise<void>
}

/**
 * Makes a mount namespace without a process: an open file of this process keeps it. Mounts of the
 * machine go on arriving in it, its own never leave it. Throws NP_NODEAGENT_MOUNT when the machine makes none.
 */
export async function makeMountNamespace(): Promise<MountNamespace> {
  const file = await openNamespace()
  const path = `/proc/${process.pid}/fd/${file.fd}`
  return {
    path,
    run: async (command) => {
      await runCommand(['nsenter', `--mount=${path}`, '--', ...command])
    },
    close: () => file.close(),
  }
}

/** `cat` answers as soon as its namespace is there, and ends with its input. */
async function openNamespace(): Promise<FileHandle> {
  const words = ['--mount', '--propagation', 'slave', '--', 'cat']
  const holder = spawn('unshare', words, { stdio: 'pipe', detached: true, env: { PATH: PROGRAMS } })
  const ended = once(holder, 'close').catch(() => undefined)
  const errors: Buffer[] = []
  holder.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
  holder.stdin.on('error', () => undefined)
  try {
    holder.stdin.write('\n')
    const isReady = await Promise.race([once(holder.stdout, 'data'), ended.then(() => undefined)])
    if (isReady === undefined) throw unmade(Buffer.concat(errors).toString().trim())
    return await openOwn(`/proc/${holder.pid}/ns/mnt`)
  } finally {
    holder.stdin.end()
    await ended
  }
}

/** A namespace that is not another one would show the mounts to the whole machine. */
async function openOwn(path: string): Promise<FileHandle> {
  const file = await open(path)
  const [made, own] = [await file.stat(), await stat('/proc/self/ns/mnt')]
  if (made.ino !== own.ino) return file
  await file.close()
  throw unmade('it is that of the node agent')
}

function unmade(why: string): NodeProxyError {
  return new NodeProxyError('NP_NODEAGENT_MOUNT', `no mount namespace could be made: ${why}`, {
    hint: 'is this root with CAP_SYS_ADMIN?',
  })
}

const PROGRAMS = process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin'
