import { readFileSync } from 'node:fs'
import { ownProcessor, type Processor } from '../../packaging/node-program.ts'
import { downloadPackages, packageFolder, readPackage } from './debian-packages.ts'

const PACKAGE = 'qemu-user-static'
/** QEMU's names of processors. */
const NAMES: Readonly<Record<Processor, string>> = { x64: 'x86_64', arm64: 'aarch64' }

/**
 * A program that needs no library and runs programs of another processor: `emulator PROGRAM ARGUMENT…`; undefined for
 * this machine's own processor. It is QEMU's user mode emulation, of the machine if it is installed, otherwise of
 * Debian's package, which is downloaded and not installed: the kernel is not told of it.
 */
export async function emulatorOf(root: string, processor: Processor): Promise<Buffer | undefined> {
  if (processor === ownProcessor()) return undefined
  const path = `usr/bin/qemu-${NAMES[processor]}`
  // Debian 12 has only the first one, from Debian 13 on it is a link to the second one.
  const paths = [`${path}-static`, path]
  try {
    return readFileSync(`/${path}-static`)
  } catch {
    // It is not installed.
  }
  const files = await downloadPackages([PACKAGE], packageFolder(root), ownProcessor())
  for (const file of files.filter((one) => /\/qemu-user[^/]*\.deb$/.test(one))) {
    const found = await readPackage(file, (one) => paths.includes(one))
    for (const entry of found.files.values()) if (entry.kind === 'file') return entry.content
  }
  throw new Error(`Debian's ${PACKAGE} has no /${paths[0]}`)
}
