import { downloadPackages, packageFolder } from '../../../docker/image/debian-packages.ts'
import { PACKAGES } from '../../../docker/image/recipe.ts'
import { ownProcessor } from '../../../packaging/node-program.ts'
import { root } from '../../support/on-demand/root.ts'
import { step } from '../../support/on-demand/step.ts'
import { debianBase, isFresh, makeArchive } from './debian-base.ts'
import { DOCKERFILES } from './dockerfiles.ts'

/** Makes or downloads what the images are built of, while there is a network to fetch it from. */
export async function prepareBases(signal: AbortSignal): Promise<void> {
  for (const dockerfile of Object.values(DOCKERFILES)) {
    const base = debianBase(dockerfile)
    if (!isFresh(base)) await makeArchive(base, signal)
  }
  await step('docker', 'downloading the Debian packages of the image', () =>
    downloadPackages(PACKAGES, packageFolder(root), ownProcessor()),
  )
}
