// Compile the contracts of this folder: node compile.js <output folder>. Same input, same bytes.
const fs = require('fs');
const path = require('path');
const solc = require('solc');

const names = fs.readdirSync(__dirname).filter((file) => file.endsWith('.sol')).sort();
const input = {
  language: 'Solidity',
  sources: Object.fromEntries(names.map((n) => [n, {content: fs.readFileSync(path.join(__dirname, n), 'utf8')}])),
  settings: {
    evmVersion: 'cancun',
    optimizer: {enabled: true, runs: 10000},
    metadata: {appendCBOR: false, bytecodeHash: 'none'},
    outputSelection: {'*': {'*': ['abi', 'evm.bytecode.object']}},
  },
};
// The one package imported from; imports of this folder's own files are sources already.
const find = (file) => ({contents: fs.readFileSync(path.join(__dirname, 'node_modules', file), 'utf8')});
const output = JSON.parse(solc.compile(JSON.stringify(input), {import: find}));
const errors = (output.errors || []).filter((e) => e.severity === 'error');
if (errors.length) {
  console.error(errors.map((e) => e.formattedMessage).join('\n'));
  process.exit(1);
}
for (const file of names) {
  const name = path.basename(file, '.sol');
  const {abi, evm} = output.contracts[file][name];
  const artifact = {name, compiler: solc.version(), abi, bytecode: '0x' + evm.bytecode.object};
  fs.writeFileSync(path.join(process.argv[2], `${name}.json`), JSON.stringify(artifact, null, 2) + '\n');
}
