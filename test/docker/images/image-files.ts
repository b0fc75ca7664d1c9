import { extract } from 'tar-stream'
import type { ContainerRuntimeClient } from 'testcontainers'

/** One file or folder of an image. */
export interface ImageFile {
  /** Without a slash at the beginning. */
  readonly path: string
  readonly mode: number
  readonly owner: number
  readonly type: string
}

/** Everything in an image, read from the engine by a container that never starts. */
export async function filesOf(
  { container }: ContainerRuntimeClient,
  image: string,
): Promise<readonly ImageFile[]> {
  const engine = container.dockerode
  const made = await engine.createContainer({ Image: image })
  try {
    const archive = extract()
    const stream = await made.export()
    stream.pipe(archive)
    const files: ImageFile[] = []
    for await (const one of archive) {
      const { name, mode, uid: owner, type } = one.header
      one.resume()
      files.push({ path: name.replace(/\/$/, ''), mode, owner, type: type ?? 'file' })
    }
    return files
  } finally {
    await made.remove({ force: true, v: true })
  }
}
