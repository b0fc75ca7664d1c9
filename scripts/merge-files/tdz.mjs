import { load, isProd, isTest, declNames } from './lib.mjs'
const FN = new Set(['FunctionDeclaration','FunctionExpression','ArrowFunctionExpression','MethodDefinition'])
const files = load()
for (const f of files.values()) {
  if (isTest(f.path)) continue
  const body = f.ast.body
  const runs = (n) => { let hit = false; const visit = (x) => { if (!x || typeof x !== 'object' || hit) return; if (Array.isArray(x)) { x.forEach(visit); return } if (typeof x.type !== 'string') return; if (FN.has(x.type)) return; if (['CallExpression','NewExpression','AwaitExpression','TaggedTemplateExpression'].includes(x.type)) { hit = true; return } for (const k of Object.keys(x)) visit(x[k]) }; visit(n); return hit }
  let first = -1
  body.forEach((n, i) => {
    const d = n.declaration ?? n
    if (d.type === 'ImportDeclaration' || /^TS|Function/.test(d.type)) return
    if (d.type === 'ClassDeclaration') { if (first >= 0) console.log(f.path, declNames(n).join(), 'after', f.text.slice(body[first].start, body[first].start + 60).replace(/\n/g, ' ')); return }
    if (d.type === 'VariableDeclaration') { // const after a running statement whose functions may use it
      if (first >= 0 && body[first].type !== 'VariableDeclaration' && (body[first].declaration ?? body[first]).type !== 'VariableDeclaration') console.log(f.path, 'const', declNames(n).join(), 'after statement', f.text.slice(body[first].start, body[first].start + 60).replace(/\n/g, ' '))
    }
    if (first < 0 && runs(d)) first = i
  })
}
