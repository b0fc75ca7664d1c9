import { existsSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SCRATCH_PREFIX, SHELL_SOCKET } from './scratch.ts'

/** Ctrl-], as in telnet. */
const LEAVE = '\u001d'

/** The shell sockets of the running kernels: of all, or of those that one process started. */
export function findShellSockets(booter?: number): readonly string[] {
  const prefix = booter === undefined ? SCRATCH_PREFIX : `${SCRATCH_PREFIX}${booter}-`
  return readdirSync(tmpdir())
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(tmpdir(), name, SHELL_SOCKET))
    .filter((path) => existsSync(path))
}

/** Connects this terminal with the shell behind a socket until Ctrl-], or until the kernel ends. */
export async function enter(path: string): Promise<void> {
  const { stdin, stdout } = process
  const visit = connect(path)
  const left = new Promise<void>((resolve, reject) => {
    visit.once('close', () => resolve())
    visit.once('error', reject)
  })
  visit.on('data', (text) => stdout.write(text))
  if (stdin.isTTY) {
    stdin.setRawMode(true)
    visit.write(` stty rows ${stdout.rows} columns ${stdout.columns}\r`)
  }
  stdin.on('data', (typed: Buffer) => {
    if (typed.includes(LEAVE)) visit.destroy()
    else visit.write(typed)
  })
  try {
    await left
  } finally {
    if (stdin.isTTY) stdin.setRawMode(false)
    stdin.destroy()
  }
}
