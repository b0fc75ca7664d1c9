import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Application, applicationOf } from '../../packaging/bundle/application.ts'
import { launched } from '../../packaging/bundle/bundle.ts'
import { CACHE } from '../../packaging/bundle/compile.ts'
import {
  type NodeProgram,
  nodeProgram,
  PROCESSORS,
  type Processor,
} from '../../packaging/node-program.ts'
import { AT, addCompileCache, NODE } from './compile-cache.ts'
import { type DebianPackage, readPackage } from './debian-packages.ts'
import { FileTree, licence, NONROOT } from './file-tree.ts'
import { type ImageConfig, type Layer, layerOf, ociArchive } from './oci-archive.ts'
import { alternatives, BASE, isWanted, PROGRAMS, type Recipe } from './recipe.ts'
import { sbomOf } from './sbom.ts'
import { Userland } from './userland.ts'

/** What all images of a run share. */
export interface SharedLayers {
  /** The checkout. */
  readonly root: string
  readonly version: string
  /** Seconds since 1970: of the images and of every file in them. */
  readonly time: number
  readonly processor: Processor
  /** What runs programs of that processor here, if this machine's does not: a program of the emulator's. */
  readonly emulator: Buffer | undefined
  readonly userland: Userland
  readonly base: FileTree
  readonly node: FileTree
  /** The layers of `base` and `node`. */
  readonly packed: readonly Layer[]
  readonly program: NodeProgram
}

interface Parts extends Pick<SharedLayers, 'root' | 'time' | 'processor' | 'emulator'> {
  /** The paths of Debian packages. */
  readonly packages: readonly string[]
}

/** An image, ready to be written. */
export interface Image {
  readonly name: string
  /** The OCI archive. */
  readonly archive: Buffer
  /** The bill of materials, which is also in the image. */
  readonly sbom: string
  readonly layers: readonly Layer[]
}

/** Makes the layers that every image begins with, of Debian packages and the Node of npm. */
export async function buildSharedLayers({
  root,
  processor,
  emulator,
  packages,
  time,
}: Parts): Promise<SharedLayers> {
  const read: DebianPackage[] = []
  for (const path of packages) read.push(await readPackage(path, isWanted))
  const userland = new Userland(read, processor)
  const program = nodeProgram(root, processor)
  const base = baseOf(userland)
  userland.takeLibraries(program.stripped, base, [])
  const node = new FileTree()
  node.add(NODE, { kind: 'file', content: program.stripped, mode: 0o755 })
  node.add('usr/share/doc/node/copyright.gz', licence(program.licence))
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string
  }
  const packed = [
    await layerOf('libraries and certificates of Debian', base, time),
    await layerOf('Node', node, time),
  ]
  return { root, version, time, processor, emulator, userland, base, node, packed, program }
}

/** `tag`: of the image, instead of the version. */
export async function buildImage(
  recipe: Recipe,
  shared: SharedLayers,
  tag = shared.version,
): Promise<Image> {
  const { root, version, time, userland, base, node } = shared
  const layers = [...shared.packed]
  const below = [base, node]
  if (recipe.hasKernelPrograms) {
    const programs = kernelPrograms(userland, below)
    below.push(programs)
    layers.push(await layerOf('programs that read and write the kernel', programs, time))
  }
  const application = await applicationOf(
    shared,
    recipe.programs.map((program) => program.name),
    shared.processor,
  )
  const tree = treeOf(recipe, application, root)
  await addCompileCache(below, tree, application.compile, shared.emulator)
  const created = new Date(time * 1_000).toISOString()
  const debian = userland.packagesOf(below)
  const sbom = sbomOf({
    name: recipe.name,
    version,
    created,
    debian,
    npm: application.npm,
    architecture: PROCESSORS[shared.processor],
    node: shared.program,
  })
  tree.addText(`usr/share/sbom/${recipe.name}.spdx.json`, sbom)
  layers.push(await layerOf(recipe.programs.map(({ name }) => name).join(' and '), tree, time))
  const config = configOf(recipe, shared, created)
  const archive = await ociArchive(`${recipe.name}:${tag}`, config, layers, time)
  return { name: recipe.name, archive, sbom, layers }
}

/** The programs of an image, with their launchers. */
function treeOf({ programs, dataFolder }: Recipe, { files }: Application, root: string): FileTree {
  const tree = new FileTree()
  for (const [path, file] of files) tree.add(`${AT}/${path}`, { kind: 'file', ...file })
  for (const { name } of programs) addLauncher(tree, root, name)
  if (dataFolder !== undefined) {
    tree.add(dataFolder, { kind: 'folder', mode: 0o700, owner: NONROOT })
  }
  return tree
}

/** A script whose interpreter is Node, because there is no shell. */
function addLauncher(tree: FileTree, root: string, name: string): void {
  const { flags } = launched(root, name)
  // The kernel passes the rest of the first line as one argument.
  if (flags.length > 1) throw new Error(`bin/${name}: more than one flag of V8`)
  const script = `${[`#!/${NODE}`, ...flags].join(' ')}\nimport '../lib/${name}.js'\n`
  tree.addText(`${AT}/bin/${name}`, script, 0o755)
  tree.add(`usr/local/bin/${name}`, { kind: 'link', target: `../../../${AT}/bin/${name}` })
}

function configOf(
  recipe: Recipe,
  { version, processor }: SharedLayers,
  created: string,
): ImageConfig {
  const { name, description, programs, user, dataFolder, exposedPorts } = recipe
  return {
    architecture: PROCESSORS[processor],
    created,
    config: {
      Entrypoint: [programs[0]?.name ?? name],
      Env: [
        'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        `NODE_COMPILE_CACHE=/${AT}/${CACHE}`,
        // node:ffi is still called experimental.
        'NODE_OPTIONS=--disable-warning=ExperimentalWarning',
      ],
      User: user === 'root' ? '' : `${NONROOT}:${NONROOT}`,
      WorkingDir: '/',
      Labels: {
        'org.opencontainers.image.title': name,
        'org.opencontainers.image.description': description,
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.created': created,
        'org.opencontainers.image.licenses': 'Apache-2.0',
        architecture: PROCESSORS[processor],
      },
      ...(exposedPorts.length === 0
        ? {}
        : { ExposedPorts: Object.fromEntries(exposedPorts.map((port) => [port, {}])) }),
      ...(dataFolder === undefined ? {} : { Volumes: { [`/${dataFolder}`]: {} } }),
    },
  }
}

/** The folders and files that every program expects. */
function baseOf(userland: Userland): FileTree {
  const base = new FileTree()
  for (const folder of ['bin', 'sbin', 'lib', 'lib64']) {
    base.add(`usr/${folder}`, { kind: 'folder', mode: 0o755 })
    base.add(folder, { kind: 'link', target: `usr/${folder}` })
  }
  for (const folder of ['dev', 'proc', 'sys', 'run', 'var/lib']) {
    base.add(folder, { kind: 'folder', mode: 0o755 })
  }
  base.add('root', { kind: 'folder', mode: 0o700 })
  for (const folder of ['tmp', 'var/tmp']) base.add(folder, { kind: 'folder', mode: 0o1777 })
  base.add('var/run', { kind: 'link', target: '../run' })
  base.addText(
    'etc/passwd',
    `root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\nnonroot:x:${NONROOT}:${NONROOT}:nonroot:/nonexistent:/sbin/nologin\n`,
  )
  base.addText('etc/group', `root:x:0:\nnogroup:x:65534:\nnonroot:x:${NONROOT}:\n`)
  base.addText('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n')
  userland.take(BASE.release, base, [])
  base.add('etc/os-release', { kind: 'link', target: '../usr/lib/os-release' })
  const authorities = userland.matching(BASE.authorities).map((path) => userland.read(path))
  base.add('etc/ssl/certs/ca-certificates.crt', {
    kind: 'file',
    content: Buffer.concat(authorities),
    mode: 0o644,
  })
  for (const path of userland.matching(BASE.authorities)) userland.noteOrigin(path, base, [])
  return base
}

function kernelPrograms(userland: Userland, below: readonly FileTree[]): FileTree {
  const tree = new FileTree()
  for (const pattern of PROGRAMS) {
    for (const path of userland.matching(pattern)) userland.take(path, tree, below)
  }
  for (const [path, target] of alternatives()) tree.add(path, { kind: 'link', target })
  return tree
}
