import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import type { OrchctlShell } from './orchctl-shell.ts'

/** A program `orchctl` for shells that start it again and again. */
export interface ProgramOnPath extends AsyncDisposable {
  /** Where it is. */
  readonly folder: string
}

/** Sends its arguments, each ended by NUL, behind their number; gets the exit code in a line, then the output. */
const script = (port: number): string => `#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/${port}
printf '%s\\0' "$#" "$@" >&3
read -r code <&3
cat <&3
exit "$code"
`

/** Makes the program, whose runs are those of `shell`: in one process, and without the working folder of the caller. */
export async function orchctlOnPath(shell: OrchctlShell): Promise<ProgramOnPath> {
  const server = createServer((socket) => {
    let sent = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      sent += text
      const [count = '', ...args] = sent.split('\0').slice(0, -1)
      if (count === '' || args.length < Number(count)) return
      void shell.run(args).then(({ code, stdout }) => socket.end(`${code}\n${stdout}`))
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const file = join(shell.home, 'bin/orchctl')
  await mkdir(dirname(file))
  await writeFile(file, script((server.address() as AddressInfo).port))
  await chmod(file, 0o755)
  return {
    folder: dirname(file),
    [Symbol.asyncDispose]: async () => {
      await new Promise((closed) => server.close(closed))
    },
  }
}
