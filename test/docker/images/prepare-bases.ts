import { debianBase, isFresh, makeArchive } from './debian-base.ts'
import { DOCKERFILES } from './dockerfiles.ts'

/** Makes what the images are built on, while there is a network to fetch it from. */
export async function prepareBases(signal: AbortSignal): Promise<void> {
  for (const dockerfile of Object.values(DOCKERFILES)) {
    const base = debianBase(dockerfile)
    if (!isFresh(base)) await makeArchive(base, signal)
  }
}
