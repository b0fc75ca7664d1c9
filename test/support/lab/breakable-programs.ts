import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Makes a folder below `folder` with iptables programs whose restore fails while the file `flag` exists. */
export function breakablePrograms(folder: string, flag: string): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  for (const family of ['iptables', 'ip6tables']) {
    for (const variant of ['', '-nft', '-legacy']) {
      const name = `${family}${variant}-restore`
      const script = `#!/bin/sh\n[ -e '${flag}' ] && exit 1\nexec /usr/sbin/${name} "$@"\n`
      writeFileSync(join(bin, name), script)
      chmodSync(join(bin, name), 0o755)
    }
  }
  return bin
}
