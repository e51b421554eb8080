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
    optimizer: {enabled: true, runs: 1000},
    metadata: {appendCBOR: false, bytecodeHash: 'none'},
    outputSelection: {'*': {'*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object']}},
  },
};
const find = (file) => ({contents: fs.readFileSync(path.join(__dirname, 'node_modules', file), 'utf8')});
const output = JSON.parse(solc.compile(JSON.stringify(input), {import: find}));
const problems = (output.errors || []).filter((e) => e.sourceLocation && names.includes(e.sourceLocation.file));
if (problems.length || (output.errors || []).some((e) => e.severity === 'error')) {
  console.error(output.errors.map((e) => e.formattedMessage).join('\n'));
  process.exit(1);
}
for (const file of names) {
  const name = path.basename(file, '.sol');
  const {abi, evm} = output.contracts[file][name];
  if (evm.deployedBytecode.object.length / 2 > 24576) throw new Error(`${name} is over EIP-170's limit`);
  const artifact = {name, compiler: solc.version(), abi, bytecode: '0x' + evm.bytecode.object};
  fs.writeFileSync(path.join(process.argv[2], `${name}.json`), JSON.stringify(artifact, null, 2) + '\n');
}
