import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { FileTree, tarOf } from './file-tree.ts'

const LEVEL = 9

/** A layer, packed. */
export interface Layer {
  /** What is in it. */
  readonly title: string
  /** sha256 of the archive before it was compressed. */
  readonly diffId: string
  readonly blob: Buffer
  /** Bytes of the archive, and of its files. */
  readonly unpacked: number
}

/** What `docker inspect` shows of an image. */
export interface ImageConfig {
  readonly architecture: string
  /** ISO 8601. */
  readonly created: string
  readonly config: {
    readonly Entrypoint: readonly string[]
    readonly Env: readonly string[]
    readonly User: string
    readonly WorkingDir: string
    readonly Labels: Readonly<Record<string, string>>
    readonly ExposedPorts?: Readonly<Record<string, object>>
    readonly Volumes?: Readonly<Record<string, object>>
  }
}

/** Packs a tree. `time`: seconds since 1970, of every entry. */
export async function layerOf(title: string, tree: FileTree, time: number): Promise<Layer> {
  const archive = await tarOf(tree, time)
  const blob = await promisify(gzip)(archive, { level: LEVEL })
  return { title, diffId: digestOf(archive), blob, unpacked: archive.length }
}

/**
 * The archive of an image by the OCI image format, with the table by which engines before it load one: `docker load`,
 * `podman load` and `ctr image import` read the same file. `name`: with its tag.
 */
export async function ociArchive(
  name: string,
  image: ImageConfig,
  layers: readonly Layer[],
  time: number,
): Promise<Buffer> {
  const tree = new FileTree()
  const blob = (content: Buffer): { readonly digest: string; readonly size: number } => {
    const digest = digestOf(content)
    tree.add(pathOf(digest), { kind: 'file', content, mode: 0o644 })
    return { digest, size: content.length }
  }
  const history = layers.map(({ title }) => ({ created: image.created, created_by: title }))
  const rootfs = { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) }
  const config = blob(jsonOf({ ...image, os: 'linux', rootfs, history }))
  const packed = layers.map((layer) => blob(layer.blob))
  const manifest = blob(
    jsonOf({
      schemaVersion: 2,
      mediaType: `${TYPE}.manifest.v1+json`,
      config: { mediaType: `${TYPE}.config.v1+json`, ...config },
      layers: packed.map((layer) => ({ mediaType: `${TYPE}.layer.v1.tar+gzip`, ...layer })),
    }),
  )
  const described = {
    mediaType: `${TYPE}.manifest.v1+json`,
    ...manifest,
    platform: { architecture: image.architecture, os: 'linux' },
    annotations: {
      'io.containerd.image.name': `docker.io/library/${name}`,
      'org.opencontainers.image.ref.name': name.slice(name.indexOf(':') + 1),
    },
  }
  const index = { schemaVersion: 2, mediaType: `${TYPE}.index.v1+json`, manifests: [described] }
  const table = {
    Config: pathOf(config.digest),
    RepoTags: [name],
    Layers: packed.map(({ digest }) => pathOf(digest)),
  }
  tree.addText('oci-layout', '{"imageLayoutVersion":"1.0.0"}')
  tree.add('index.json', { kind: 'file', content: jsonOf(index), mode: 0o644 })
  tree.add('manifest.json', { kind: 'file', content: jsonOf([table]), mode: 0o644 })
  return tarOf(tree, time)
}

const TYPE = 'application/vnd.oci.image'

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

function pathOf(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`
}

function jsonOf(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}
