import { load, importersOf, isProd, isTest, isTesting, File, ROOT, resolve, relative, declNames, importEntries, printImports } from './lib.mjs'
import path from 'node:path'
import fs from 'node:fs'
const posix = path.posix
const opt = Object.fromEntries(process.argv.slice(2).map((a) => { const [k, v] = a.replace(/^--/, '').split('='); return [k, v ?? true] }))
const MAXF = Number(opt.maxF ?? 60), TOTAL = Number(opt.total ?? 260)
const only = opt.only
const skip = new Set((opt.skip ?? '').split(',').filter(Boolean))
const where = opt.where ?? 'same' // same | child | any
const files = load()
const strings = [...files.values()].filter((f) => true)
const allText = new Map()
const startRefs = new Set(), suffixes = new Set()
// names of files in strings that are no import
for (const f of files.values()) {
  const imports = new Set(f.sources().map((s) => s.lit.start))
  for (const m of f.text.matchAll(/['"`]([\w./-]+\.ts)['"`]/g)) {
    if (imports.has(m.index)) continue
    const name = m[1]
    startRefs.add(posix.join(posix.dirname(f.path), name)); startRefs.add(name)
    if (name.includes('/')) suffixes.add(`/${name.replace(/^(\.\.?\/)+/, '')}`)
  }
}
const REGISTRIES = ['src/apiserver/kinds/catalogue.ts','src/doctor/checks.ts','src/doctor/node-checks.ts','src/controllers/known-controllers.ts','src/nodeproxy/config/fields/index.ts','src/nodeproxy/config/settings-table.ts','src/orchserver/config/fields/settings-table.ts','src/orchctl/program.ts','src/orchctl/commands.ts','src/orchctl/create/create-command.ts','src/orchctl/discovery/catalogue.ts','src/explain/xtables/matches/test-rule.ts','src/explain/xtables/targets/apply-target.ts','src/telemetry/metrics/table.ts','src/nodeproxy/commands/commands.ts','src/nodeproxy/modes/mode-registry.ts']
const log = []
const moved = [] // [F, G]
function tryFold(F, G, importers) {
  let f = files.get(F)
  const g = files.get(G)
  if (F.startsWith('src/page/files/') && /^interface Props\b/m.test(f.text)) {
    const name = posix.basename(F, '.ts').replace(/(^|-)(\w)/g, (_, __, c) => c.toUpperCase())
    f = new File(F, f.text.replace(/\bProps\b/g, `${name}Props`))
  }
  if (startRefs.has(F) || [...suffixes].some((x) => F.endsWith(x))) return 'named in a string'
  const fc = f.chunks(), gc = g.chunks()
  const fImports = importEntries(f), gImports = importEntries(g)
  if (fImports.some((e) => e.kind === 'side')) return 'side import'
  const fromF = gImports.filter((e) => e.target === F)
  if (fromF.some((e) => e.kind !== 'named' || e.imported !== e.local)) return 'alias or namespace'
  if (g.sources().some((s) => s.node.type !== 'ImportDeclaration' && s.node.type !== 'ExportNamedDeclaration' && resolve(G, s.spec) === F)) return 'dynamic or export *'
  if (f.sources().some((s) => s.node.type !== 'ImportDeclaration' && s.spec.startsWith('.'))) return 'F re-exports'
  if (f.sources().some((s) => s.node.type !== 'ImportDeclaration' && posix.dirname(F) !== posix.dirname(G) && s.spec.startsWith('.'))) return 'F dynamic'
  if (/import\.meta/.test(f.text) && posix.dirname(F) !== posix.dirname(G)) return 'import.meta'
  if (fImports.some((e) => e.target === G)) return 'mutual'
  const reexport = g.ast.body.filter((n) => n.type === 'ExportNamedDeclaration' && n.source && resolve(G, n.source.value) === F)
  if (reexport.some((n) => n.specifiers.some((s) => s.local.name !== s.exported.name))) return 'renamed re-export'
  const reexported = new Set(reexport.flatMap((n) => n.specifiers.map((s) => s.exported.name)))
  const fBody = fc.chunks.filter((c) => c.node.type !== 'ImportDeclaration')
  const gBody = gc.chunks.filter((c) => c.node.type !== 'ImportDeclaration' && !reexport.includes(c.node))
  if (fBody.some((c) => c.node.type === 'ExportNamedDeclaration' && !c.node.declaration)) return 'F export list'
  if (fBody.some((c) => c.node.type === 'ExpressionStatement')) return 'F has statements'
  if (fc.chunks.some((c) => c.node.type === 'ImportDeclaration' && c.lead)) return 'F import comment'
  const fNames = new Set(fBody.flatMap((c) => declNames(c.node)))
  const gNames = new Set(gBody.flatMap((c) => declNames(c.node)))
  const clash = [...fNames].filter((n) => gNames.has(n))
  if (clash.length) return `clash ${clash.join(' ')}`
  const gOther = gImports.filter((e) => e.target !== F)
  for (const e of gOther) if (fNames.has(e.local)) return `clash import ${e.local}`
  for (const e of fImports) {
    if (gNames.has(e.local)) return `clash import ${e.local}`
    const same = gOther.find((x) => x.local === e.local)
    if (same && (same.target !== e.target || same.imported !== e.imported || same.kind !== e.kind)) return `clash import ${e.local}`
  }
  // eager use of functions is fine (hoisted) but they may use F's consts: those go first. classes must not be eager.
  const isConst = (c) => { const d = c.node.declaration ?? c.node; return d.type === 'VariableDeclaration' || d.type === 'TSEnumDeclaration' }
  const isClass = (c) => (c.node.declaration ?? c.node).type === 'ClassDeclaration'
  const isType = (c) => ['TSInterfaceDeclaration', 'TSTypeAliasDeclaration'].includes((c.node.declaration ?? c.node).type)
  const gEager = gBody.filter((c) => isConst(c) || (isClass(c) && (c.node.declaration ?? c.node).superClass) || !/Declaration/.test(c.node.type))
  const classes = fBody.filter(isClass).flatMap((c) => declNames(c.node))
  if (classes.some((n) => [...gEager, ...fBody.filter(isConst)].some((c) => new RegExp(`\\b${n}\\b`).test(c.text)))) return 'class used eagerly'
  // who else needs the names
  const needed = new Set(reexported)
  for (const other of importers) {
    if (other === G) continue
    const o = files.get(other)
    for (const s of o.sources()) {
      if (resolve(other, s.spec) !== F) continue
      if (s.node.type === 'ImportDeclaration') for (const sp of s.node.specifiers) { if (sp.type !== 'ImportSpecifier') return 'namespace elsewhere'; needed.add(sp.imported.name) }
      else if (s.node.type === 'ExportNamedDeclaration') for (const sp of s.node.specifiers) needed.add(sp.local.name)
      else return 'dynamic elsewhere'
    }
  }
  const bare = (c) => {
    if (c.node.type !== 'ExportNamedDeclaration') return c.text
    if (declNames(c.node).some((n) => needed.has(n))) return c.text
    const at = c.text.lastIndexOf('export ', c.text.length) // first export keyword after comments
    const lead = c.lead.length
    const idx = c.text.indexOf('export ', c.text.indexOf(c.lead) + lead)
    return c.text.slice(0, idx) + c.text.slice(idx + 7)
  }
  const isNeeded = (c) => declNames(c.node).some((n) => needed.has(n))
  const top = fBody.filter((c) => isConst(c) || (isType(c) && isNeeded(c)))
  const bottom = fBody.filter((c) => !top.includes(c))
  const importsText = printImports(G, [...gOther, ...fImports])
  const gLead = gc.chunks.find((c) => c.node.type === 'ImportDeclaration')?.lead
  if (gLead && gLead.includes('*/') && gc.chunks[0].node.type !== 'ImportDeclaration') return 'odd lead'
  // G's own leading consts stay behind those of F
  const join = (list, textOf) => list.map((c, i) => `${i > 0 && c.tight ? '\n' : i > 0 ? '\n\n' : ''}${textOf(c)}`).join('')
  const body = [join(top, bare), join(gBody, (c) => c.text), join(bottom, bare)].filter(Boolean)
  const tails = [gc.tail, fc.tail].filter(Boolean)
  const hash = g.text.startsWith('#!') ? `${g.text.slice(0, g.text.indexOf('\n') + 1)}` : ''
  const lead = gLead ? `${gLead.replace(/^#![^\n]*\n?/, '').trim()}\n` : ''
  const text = `${hash}${lead.trim() ? lead : ''}${importsText}\n\n${body.join('\n\n')}\n${tails.length ? `\n${tails.join('\n')}\n` : ''}`
  const parsed = new File(G, text)
  try { parsed.ast } catch (e) { return `parse: ${e.message.slice(0, 100)}` }
  if (parsed.lines > TOTAL) return 'too long'
  files.set(G, parsed)
  files.delete(F)
  // update others
  for (const other of importers) {
    if (other === G) continue
    const o = files.get(other)
    const edits = o.sources().filter((s) => resolve(other, s.spec) === F)
    let t = o.text
    for (const s of edits.sort((a, b) => b.lit.start - a.lit.start)) t = `${t.slice(0, s.lit.start)}'${relative(other, G)}'${t.slice(s.lit.end)}`
    let no = new File(other, t)
    // combine duplicates
    const entries = importEntries(no)
    const decls = no.ast.body.filter((n) => n.type === 'ImportDeclaration')
    const dup = decls.filter((n) => resolve(other, n.source.value) === G)
    if (dup.length > 1) {
      const merged = printImports(other, entries.filter((e) => e.target === G))
      for (const n of dup.slice(1).reverse()) {
        let end = n.end
        if (no.text[end] === '\n') end++
        t = t.slice(0, n.start) + t.slice(end)
      }
      t = t.slice(0, dup[0].start) + merged + t.slice(dup[0].end)
      no = new File(other, t)
    }
    files.set(other, no)
  }
  moved.push([F, G])
  return undefined
}
let progress = true
const reasons = new Map()
while (progress) {
  progress = false
  const imp = importersOf(files)
  const candidates = [...files.keys()].filter(isProd).filter((p) => !only || p.startsWith(only)).sort((a, b) => files.get(a).lines - files.get(b).lines)
  const touched = new Set()
  for (const F of candidates) {
    if (skip.has(F) || [...skip].some((s) => s.endsWith('/') && F.startsWith(s))) continue
    const all = imp.get(F)
    if (!all) continue
    const users = [...all].filter(isProd)
    let G = users[0]
    if (users.length === 0) continue
    if (users.some((u) => !files.has(u)) || !files.has(F)) { progress = true; continue }
    if (users.length > 1) {
      if (!opt.shared || F.startsWith('src/lib/') || F.startsWith('src/resources/')) continue
      const within = users.filter((g) => files.has(g) && !REGISTRIES.includes(g) && (posix.dirname(g) === posix.dirname(F) || posix.dirname(F).startsWith(`${posix.dirname(g)}/`)))
      const valueImport = (u, t) => files.get(u).ast.body.some((n) => n.type === 'ImportDeclaration' && n.importKind !== 'type' && n.specifiers.some((x) => x.importKind !== 'type') && resolve(u, n.source.value) === t)
      const staticImport = (u, t) => files.get(u).ast.body.some((n) => n.type === 'ImportDeclaration' && resolve(u, n.source.value) === t)
      G = within.find((g) => users.every((u) => u === g || (staticImport(u, g) && (valueImport(u, g) || !valueImport(u, F)))))
      if (G === undefined) continue
    }
    if (touched.has(F) || touched.has(G) || [...all].some((x) => touched.has(x))) { progress = true; continue }
    if (!files.has(F) || !files.has(G)) continue
    if (REGISTRIES.includes(F)) continue
    if (REGISTRIES.includes(G)) { reasons.set(F, 'registry'); continue }
    const df = posix.dirname(F), dg = posix.dirname(G)
    if (where === 'same' && df !== dg) continue
    if (where === 'child' && !(df === dg || df.startsWith(`${dg}/`))) continue
    if (where === 'any' && F.split('/')[1] !== G.split('/')[1]) continue
    const f = files.get(F)
    if (f.lines > MAXF) continue
    const tested = files.has(F.replace(/\.ts$/, '.test.ts'))
    if (tested && !opt.tested) { reasons.set(F, 'tested'); continue }
    if (F.endsWith('/main.ts')) continue
    const why = tryFold(F, G, all)
    if (why) { reasons.set(F, `${why} → ${G}`); continue }
    reasons.delete(F)
    for (const x of all) touched.add(x)
    touched.add(F)
    progress = true
  }
  if (touched.size === 0) break
}
for (const [F, why] of reasons) if (files.has(F)) log.push(`${F}: ${why}`)
console.log(JSON.stringify({ moved: moved.length, left: reasons.size }))
fs.writeFileSync('/tmp/merge-files-reasons.txt', log.join('\n'))
fs.appendFileSync('/tmp/merge-files-moved.txt', moved.map(([a, b]) => `${a} ${b}\n`).join(''))
if (opt.write) {
  for (const f of files.values()) {
    const p = `${ROOT}/${f.path}`
    if (fs.readFileSync(p, 'utf8') !== f.text) fs.writeFileSync(p, f.text)
  }
  for (const [F] of moved) fs.rmSync(`${ROOT}/${F}`)
}
